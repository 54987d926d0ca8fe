package viz

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Saved is what Save left: the files, and what wrote the PDF.
type Saved struct {
	Files []string
	PDFBy string
}

// Save writes dir/name.svg, .png, .pdf and .csv, making dir if need be. All
// four are drawn before the first is written, and each appears whole or not at
// all; after an error nothing new is left.
func (f *Figure) Save(dir, name string, s Style) (Saved, error) {
	if name == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return Saved{}, fmt.Errorf("figure name %q: must be a plain file name without folders", name)
	}
	csv, err := f.CSV()
	if err != nil {
		return Saved{}, err
	}
	sh, err := f.layOut(newTheme(s, false))
	if err != nil {
		return Saved{}, err
	}
	svg, err := sh.svg()
	if err != nil {
		return Saved{}, fmt.Errorf("figure %s: %w", name, err)
	}
	png, err := sh.png()
	if err != nil {
		return Saved{}, fmt.Errorf("figure %s: %w", name, err)
	}
	pdf, by, err := f.PDF(s)
	if err != nil {
		return Saved{}, fmt.Errorf("figure %s: %w", name, err)
	}
	files, err := writeAll(dir, name, []content{{".svg", svg}, {".png", png}, {".pdf", pdf}, {".csv", csv}})
	if err != nil {
		return Saved{}, fmt.Errorf("figure %s: cannot be saved in %s: %w", name, dir, err)
	}
	return Saved{Files: files, PDFBy: by}, nil
}

type content struct {
	ext  string
	data []byte
}

// writeAll writes every file beside its place and then moves all into place.
func writeAll(dir, name string, all []content) (files []string, err error) {
	made := missingFolders(dir)
	var temps, placed []string
	defer func() {
		for _, t := range temps {
			os.Remove(t) // gone already if it was moved
		}
		if err != nil {
			for _, p := range placed {
				os.Remove(p)
			}
			for _, d := range made {
				os.Remove(d) // only if empty
			}
		}
	}()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	for _, c := range all {
		path := filepath.Join(dir, name+c.ext)
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is in the way and is not a plain file", path)
		}
		t, err := os.CreateTemp(dir, "."+name+"-*"+c.ext)
		if err != nil {
			return nil, err
		}
		temps = append(temps, t.Name())
		_, err = t.Write(c.data)
		if e := t.Chmod(0o644); err == nil {
			err = e
		}
		if e := t.Close(); err == nil {
			err = e
		}
		if err != nil {
			return nil, err
		}
	}
	for i, c := range all {
		path := filepath.Join(dir, name+c.ext)
		_, missing := os.Stat(path)
		if err := os.Rename(temps[i], path); err != nil {
			return nil, err
		}
		if missing != nil {
			placed = append(placed, path)
		}
		files = append(files, path)
	}
	return files, nil
}

// missingFolders lists what MkdirAll would make, innermost first.
func missingFolders(dir string) (missing []string) {
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); err == nil || d == filepath.Dir(d) {
			return missing
		}
		missing = append(missing, d)
	}
}
