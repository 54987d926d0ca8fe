package notebook

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// repo is the repository; tests change folders.
var repo = func() string {
	dir, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return dir
}()

// save writes a notebook of Go cells and returns its path.
func save(t *testing.T, dir, name string, cells ...string) string {
	t.Helper()
	nb := map[string]any{"nbformat": 4, "nbformat_minor": 5, "metadata": map[string]any{}}
	var all []any
	for _, c := range cells {
		all = append(all, map[string]any{"cell_type": "code", "source": strings.SplitAfter(c, "\n"), "outputs": []any{}, "metadata": map[string]any{}, "execution_count": nil})
	}
	nb["cells"] = all
	b, err := json.Marshal(nb)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name+".ipynb")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Each notebook of cells gives these problems, in the order of their cells; all
// are compiled at once.
func TestCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	tests := []struct {
		name  string
		cells []string
		want  []string
	}{
		{"fine", []string{
			"import (\n\t\"fmt\"\n\t\"math\"\n)\nconst a, b = 1, 2",
			"// a comment alone",
			"%%\nfmt.Println(a, b) // an import that is not used stays out",
			"type point struct{ x, y float64 }\nfunc (p *point) norm() float64 { return math.Hypot(p.x, p.y) }\nfunc init_point() { println(\"before each\") }",
			"const (\n\tred = iota\n\tgreen\n)\nvar x, y = 1, \"a\"",
			"%noautoget\n!echo one \\\n  two\n%%\nfmt.Println((&point{3, 4}).norm(), green, x, y)",
			"var x = 2.5 // replaces x, and y with it\nfunc main() { fmt.Println(x) }",
			"%%script kalmarz\nmixers gdn",
			"//gonb:%% --flag\nfmt.Println(point{})",
		}, nil},
		{"undefined", []string{"import \"fmt\"", "%%\nfmt.Println(1)\nfmt.Println(nothing)"}, []string{"undefined.ipynb[cell 2]:3: undefined: nothing"}},
		{"values", []string{"import \"fmt\"\n%%\nx := 1\nfmt.Println(x)", "%%\nfmt.Println(x)"}, []string{"values.ipynb[cell 2]:2: undefined: x"}},
		{"earlier", []string{"func f() int { return \"\" }", "%%\nprintln(f())"}, []string{"earlier.ipynb[cell 1]:1: cannot use"}},
		{"replaced", []string{"func f() int { return 1 }", "func f() string { return \"\" }", "%%\nvar n int = f()\n_ = n"}, []string{"replaced.ipynb[cell 3]:2: cannot use f()"}},
		{"vetted", []string{"import \"fmt\"\n\n%%\nfmt.Printf(\"%d\\n\", \"text\")"}, []string{"vetted.ipynb[cell 1]:4: fmt.Printf format %d"}},
		{"syntax", []string{"func f( {"}, []string{"syntax.ipynb[cell 1]:1: expected ')'"}},
		{"unknown", []string{"%%\nprintln()", "%nonsense 1\n%%\nprintln()", "%%python\nprint()"},
			[]string{"unknown.ipynb[cell 2]:1: %nonsense: GoNB has no such command", "unknown.ipynb[cell 3]:1: %%python: GoNB has no such command"}},
		{"late", []string{"var x = 1\n%%bash"}, []string{"late.ipynb[cell 1]:2: %%bash: must be the first line"}},
		{"reset", []string{"var x = 1", "%reset", "%%\nprintln(x)"}, []string{"reset.ipynb[cell 3]:2: undefined: x"}},
		{"import", []string{"import \"no/such/package\"\n%%\npackage1.F()"}, []string{"import.ipynb[cell 1]:3: undefined: package1"}},
	}
	var paths []string
	for _, c := range tests {
		paths = append(paths, save(t, ".", c.name, c.cells...))
	}
	var out strings.Builder
	err := check(context.Background(), &out, repo, paths)
	if err == nil {
		t.Error("no error")
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for _, c := range tests {
		var mine []string
		for _, l := range lines {
			if strings.HasPrefix(l, c.name+".ipynb") {
				mine = append(mine, l)
			}
		}
		if len(mine) != len(c.want) {
			t.Errorf("%s: %q, want %q", c.name, mine, c.want)
			continue
		}
		for i, w := range c.want {
			if !strings.HasPrefix(mine[i], w) {
				t.Errorf("%s: %s, want %s", c.name, mine[i], w)
			}
		}
	}
	out.Reset()
	if err := check(context.Background(), &out, repo, paths[:1]); err != nil || out.String() != "8 Go cells in 1 notebook compile\n" {
		t.Errorf("%v, %s", err, &out)
	}
}

func TestJudge(t *testing.T) {
	f := &file{path: "n.ipynb"}
	err := json.Unmarshal([]byte(`{"cells": [
		{"cell_type": "markdown", "source": "text"},
		{"cell_type": "code", "source": "ok", "execution_count": 1, "outputs": [{"output_type": "stream", "name": "stderr", "text": ["a note\n"]}]},
		{"cell_type": "code", "source": "", "execution_count": null, "outputs": []},
		{"cell_type": "code", "source": "shell", "execution_count": 2, "outputs": [{"output_type": "stream", "name": "stderr", "text": "ls: no such file\nexit status 2\n"}]},
		{"cell_type": "code", "source": "magic", "execution_count": 3, "outputs": [{"output_type": "stream", "name": "stderr", "text": "\"%nonsense\" unknown or not implemented yet."}]},
		{"cell_type": "code", "source": "panic", "execution_count": 4, "outputs": [
			{"output_type": "stream", "name": "stderr", "text": "\u001b[31mgraph: shapes do not fit\u001b[0m\n"}, {"output_type": "error", "ename": "ERROR", "evalue": "exit status 1", "traceback": []}]},
		{"cell_type": "code", "source": "typo", "execution_count": 5, "outputs": [
			{"output_type": "error", "ename": "ERROR", "evalue": "failed to run \"/go/bin/go build -o /tmp/g/g\": exit status 1", "traceback": []}]},
		{"cell_type": "code", "source": "never", "execution_count": null, "outputs": []}
	]}`), f)
	if err != nil {
		t.Fatal(err)
	}
	f.count()
	problems, cells := f.judge()
	want := []string{
		"n.ipynb[cell 2]: ls: no such file",
		"n.ipynb[cell 3]: \"%nonsense\" unknown or not implemented yet.",
		"n.ipynb[cell 4]: graph: shapes do not fit",
		"n.ipynb[cell 5]: does not compile: kalmarz notebook check says where",
		"n.ipynb[cell 6]: was not run",
	}
	if cells != 6 || strings.Join(problems, "\n") != strings.Join(want, "\n") {
		t.Errorf("%d cells, problems\n%s\nwant\n%s", cells, strings.Join(problems, "\n"), strings.Join(want, "\n"))
	}
}

// TestCommittedNotebooks: without outputs, for this kernel, and sized by one
// variable at the top.
func TestCommittedNotebooks(t *testing.T) {
	paths, err := find([]string{filepath.Join(repo, "notebooks")}, repo)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(paths, "new.ipynb") {
		f, err := read(path)
		if err != nil {
			t.Fatal(err)
		}
		if f.Metadata.Kernel.Name != kernelName {
			t.Errorf("%s: kernel %q, want %s", path, f.Metadata.Kernel.Name, kernelName)
		}
		sized := false
		for _, c := range f.Cells {
			if c.number > 0 && (c.Count != nil || len(c.Outputs) > 0) {
				t.Errorf("%s has outputs: clear them before it is committed", f.place(c.number, 0))
			}
			sized = sized || c.number == 1 && strings.Contains(string(c.Source), "\nconst scale = 1\n") || strings.HasSuffix(string(c.Source), "\nconst scale = 1")
		}
		if !sized {
			t.Errorf("%s: the first cell has no line const scale = 1", path)
		}
		if _, problems := f.programs(); len(problems) > 0 {
			t.Errorf("%s: %v", path, problems)
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	b, a := save(t, dir, "b"), save(t, dir, "a")
	got, err := find([]string{dir, a}, repo)
	if err != nil || len(got) != 2 || got[0] != a || got[1] != b {
		t.Errorf("%v, %v", got, err)
	}
	for word, want := range map[string]string{dir + "/none.ipynb": "no such notebook", "notebook.go": "must end in .ipynb", t.TempDir(): "no notebook (*.ipynb) there"} {
		if _, err := find([]string{word}, repo); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", word, err, want)
		}
	}
	if err := os.WriteFile(a, []byte(`{"a": 1}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := read(a); err == nil || !strings.Contains(err.Error(), "a.ipynb: not a notebook") {
		t.Errorf("a file that is none: %v", err)
	}
}
