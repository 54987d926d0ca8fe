package notebook

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

//go:embed new.ipynb
var template string

// create writes a notebook that runs as it is.
func create(out io.Writer, name string) error {
	path := strings.TrimSuffix(name, extension) + extension
	title := strings.TrimSuffix(filepath.Base(path), extension)
	if title == "" || strings.HasPrefix(title, ".") || strings.ContainsAny(title, "\"\\\n\r\t") {
		return fmt.Errorf("%q: must be the name of a file", name)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is there already", path)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.ReplaceAll(template, "TITLE", title))
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	_, err = fmt.Fprintf(out, "%s: open it with jupyter lab %s, or run it with kalmarz notebook run %s\n", path, path, path)
	return err
}
