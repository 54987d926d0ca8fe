package notebook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// placed is a line of go vet about a cell, and its continuation.
var placed = regexp.MustCompile(`^(?:vet: )?/@(\d+)/\[cell (\d+)\]:(\d+):(?:(\d+):)? (.*)$`)

// check compiles and vets the Go cells of notebooks, each as the program that
// GoNB would make of it, and prints what is wrong as FILE[cell N]:LINE.
func check(ctx context.Context, out io.Writer, repo string, paths []string) error {
	dir, remove, err := workspace(repo)
	if err != nil {
		return err
	}
	defer remove()
	found := map[string]bool{}
	report := func(place, text string) {
		if line := place + ": " + text; !found[line] {
			found[line] = true
			fmt.Fprintln(out, line)
		}
	}
	var files []*file
	cells := 0
	for n, path := range paths {
		f, err := read(path)
		if err != nil {
			return err
		}
		files = append(files, f)
		all, problems := f.programs()
		for _, p := range problems {
			report(f.place(p.cell, p.line), p.text)
		}
		for _, p := range all {
			cells++
			d := filepath.Join(dir, fmt.Sprintf("n%d", n), fmt.Sprintf("cell%d", p.cell))
			if err := os.MkdirAll(d, 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(d, "main.go"), []byte(p.source(n)), 0o644); err != nil {
				return err
			}
		}
	}
	if err := vet(ctx, dir, files, report); err != nil {
		return err
	}
	if len(found) > 0 {
		return errors.New(count(len(found), "problem"))
	}
	_, err = fmt.Fprintf(out, "%s in %s compile\n", count(cells, "Go cell"), count(len(paths), "notebook"))
	return err
}

// vet reports what go vet says of the programs below dir.
func vet(ctx context.Context, dir string, files []*file, report func(place, text string)) error {
	text, err := goCommand(ctx, dir, "vet", "./...").CombinedOutput()
	if err == nil {
		return nil
	}
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || ctx.Err() != nil {
		return err
	}
	none := true
	for _, line := range strings.Split(string(text), "\n") {
		m := placed.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[1])
		cell, _ := strconv.Atoi(m[2])
		at, _ := strconv.Atoi(m[3])
		none = false
		report(files[n].place(cell, at), m[5])
	}
	if none && strings.Contains(string(text), "GOPROXY=off") {
		return errors.New("cells need modules that are not on this machine: kalmarz notebook setup downloads them")
	}
	if none {
		lines := slices.DeleteFunc(strings.Split(string(text), "\n"), func(l string) bool { return strings.HasPrefix(l, "#") || l == "" })
		return failure("go vet", err, []byte(strings.Join(lines, "; ")))
	}
	return nil
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
