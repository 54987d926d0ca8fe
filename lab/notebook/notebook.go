// Package notebook runs Go notebooks: it builds their kernel (GoNB) and
// registers it with Jupyter, compiles all cells without Jupyter, executes
// notebooks headless, and writes new ones.
//
// A cell is compiled in a Go workspace with the repository, so notebooks see the
// code as it is, with the versions of its go.mod; nothing is downloaded by a
// cell.
package notebook

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Extension of the files.
const extension = ".ipynb"

// file is a notebook as Jupyter writes it, as far as it matters here.
type file struct {
	path     string
	Cells    []cell `json:"cells"`
	Metadata struct {
		Kernel struct {
			Name string `json:"name"`
		} `json:"kernelspec"`
	} `json:"metadata"`
}

type cell struct {
	Type    string   `json:"cell_type"`
	Source  text     `json:"source"`
	Count   *int     `json:"execution_count"`
	Outputs []output `json:"outputs"`
	number  int      // among the code cells that are not empty, from 1: the [n] beside it after a whole run
}

type output struct {
	Type      string   `json:"output_type"`
	Stream    string   `json:"name"`
	Text      text     `json:"text"`
	Error     string   `json:"ename"`
	Value     string   `json:"evalue"`
	Traceback []string `json:"traceback"`
}

// text is a string, or a list of lines that together are one.
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	var lines []string
	if err := json.Unmarshal(b, &lines); err == nil {
		*t = text(strings.Join(lines, ""))
		return nil
	}
	return json.Unmarshal(b, (*string)(t))
}

// read reads a notebook.
func read(path string) (*file, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f := &file{path: path}
	if err := json.Unmarshal(b, f); err != nil {
		return nil, fmt.Errorf("%s: not a notebook: %w", path, err)
	}
	if f.Cells == nil {
		return nil, fmt.Errorf("%s: not a notebook: it has no cells", path)
	}
	f.count()
	return f, nil
}

// count numbers the code cells.
func (f *file) count() {
	n := 0
	for i := range f.Cells {
		if c := &f.Cells[i]; c.code() {
			n++
			c.number = n
		}
	}
}

// code tells whether a cell runs: Jupyter passes empty ones over.
func (c *cell) code() bool {
	return c.Type == "code" && strings.TrimSpace(string(c.Source)) != ""
}

// place names a line of a cell, from 1; 0 for the cell as a whole.
func (f *file) place(cell, line int) string {
	if line == 0 {
		return fmt.Sprintf("%s[cell %d]", f.path, cell)
	}
	return fmt.Sprintf("%s[cell %d]:%d", f.path, cell, line)
}

// find lists the notebooks that words name: files, and folders for those in
// them. No words mean the repository's folder notebooks.
func find(words []string, repo string) ([]string, error) {
	if len(words) == 0 {
		words = []string{relative(filepath.Join(repo, "notebooks"))}
	}
	var out []string
	for _, w := range words {
		info, err := os.Stat(w)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil, fmt.Errorf("%s: no such notebook", w)
		case err != nil:
			return nil, err
		case !info.IsDir() && filepath.Ext(w) != extension:
			return nil, fmt.Errorf("%s: must end in %s", w, extension)
		case !info.IsDir():
			out = append(out, w)
			continue
		}
		found, err := filepath.Glob(filepath.Join(w, "*"+extension))
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: no notebook (*%s) there", w, extension)
		}
		out = append(out, found...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// relative is the path as seen from the working folder, if that is shorter.
func relative(path string) string {
	if work, err := os.Getwd(); err == nil {
		if r, err := filepath.Rel(work, path); err == nil && len(r) < len(path) {
			return r
		}
	}
	return path
}
