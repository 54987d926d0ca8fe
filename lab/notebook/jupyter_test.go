package notebook

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fakeJupyter puts a program jupyter into a virtual environment of its own and a
// registered kernel beside it; the program runs script.
func fakeJupyter(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("VIRTUAL_ENV", dir)
	t.Setenv("JUPYTER_DATA_DIR", filepath.Join(dir, "data"))
	bin := filepath.Join(dir, "bin")
	kernel := filepath.Join(dir, "data", "kernels", kernelName)
	for _, d := range []string{bin, kernel} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	spec, err := json.Marshal(newKernel(bin, repo, "/go/bin"))
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{
		filepath.Join(bin, "jupyter"):        "#!/bin/sh\n" + script,
		filepath.Join(bin, "gonb"):           "",
		filepath.Join(kernel, "kernel.json"): string(spec),
	} {
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// copying is what nbconvert does as far as files go: the last argument comes to
// be in the folder after --output-dir, changed by sed.
const copying = `
echo "$@" > "$VIRTUAL_ENV/arguments"
for last; do
	[ "$before" = --output-dir ] && folder=$last
	before=$last
done
sed 's/"execution_count":null/"execution_count":1/; s/"outputs":\[\]/"outputs":['"$OUTPUT"']/' "$last" > "$folder/$(basename "$last")"
`

func TestRun(t *testing.T) {
	fakeJupyter(t, copying)
	t.Chdir(t.TempDir())
	path := save(t, ".", "a", "%%\nprintln()")
	var out strings.Builder
	if err := run(context.Background(), &out, repo, []string{path}, "to", 7*time.Second); err != nil || !strings.HasPrefix(out.String(), "a.ipynb  1 cell, 0 s  ok: to/a.ipynb") {
		t.Errorf("%v, %s", err, &out)
	}
	b, _ := os.ReadFile(filepath.Join(os.Getenv("VIRTUAL_ENV"), "arguments"))
	for _, want := range []string{"nbconvert --to notebook --execute", "kernel_name=kalmarz", "timeout=7 "} {
		if !strings.Contains(string(b), want) {
			t.Errorf("jupyter is called with %s, without %s", b, want)
		}
	}
	out.Reset()
	t.Setenv("OUTPUT", `{"output_type":"error","ename":"ERROR","evalue":"exit status 1"}`)
	if err := run(context.Background(), &out, repo, []string{path}, "to", time.Second); err == nil || err.Error() != "1 notebook of 1 failed" || out.String() != "a.ipynb[cell 1]: exit status 1\n" {
		t.Errorf("a cell that fails: %v, %s", err, &out)
	}
}

func TestRunWhereJupyterFails(t *testing.T) {
	fakeJupyter(t, "echo trace >&2; echo 'CellTimeoutError: cell timed out' >&2; exit 1\n")
	t.Chdir(t.TempDir())
	path := save(t, ".", "a", "%%\nprintln()")
	if err := os.Mkdir("to", 0o755); err != nil {
		t.Fatal(err)
	}
	save(t, "to", "a", "an older result")
	var out strings.Builder
	err := run(context.Background(), &out, repo, []string{path}, "to", time.Second)
	if err == nil || !strings.Contains(out.String(), "failed: jupyter nbconvert: exit status 1: CellTimeoutError: cell timed out") {
		t.Errorf("%v, %s", err, &out)
	}
	if _, err := os.Stat("to/a.ipynb"); err == nil {
		t.Error("the older result is still there")
	}
}

// TestMissing: each error says what to do.
func TestMissing(t *testing.T) {
	t.Chdir(t.TempDir())
	path := save(t, ".", "a", "%%\nprintln()")
	failing := func(want string) {
		t.Helper()
		var out strings.Builder
		if err := run(context.Background(), &out, repo, []string{path}, "to", time.Second); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	t.Setenv("JUPYTER_DATA_DIR", t.TempDir())
	failing(`the kernel "Kalmarz (Go)" is not registered: run kalmarz notebook setup`)
	fakeJupyter(t, "")
	if err := ready("/another/clone"); err == nil || !strings.Contains(err.Error(), "is of the clone in "+repo) {
		t.Errorf("another clone's kernel: %v", err)
	}
	os.Remove(filepath.Join(os.Getenv("VIRTUAL_ENV"), "bin", "jupyter"))
	t.Setenv("PATH", "")
	failing("missing: Jupyter; install it in the repository with: python3 -m venv")
	os.Remove(filepath.Join(os.Getenv("VIRTUAL_ENV"), "bin", "gonb"))
	failing("kalmarz notebook setup builds it")
}

func TestKernel(t *testing.T) {
	t.Setenv("GOFLAGS", "-tags=other")
	k := newKernel("/k/bin", "/clone", "/usr/local/go/bin")
	if k.repo() != "/clone" || k.Argv[0] != "/k/bin/gonb" || k.Env["PATH"] != "/k/bin:/usr/local/go/bin:${PATH}" ||
		k.Env["GOEXPERIMENT"] != "simd" || k.Env["GOPROXY"] != "off" || strings.Contains(k.Env["GOFLAGS"], "other") {
		t.Errorf("%+v", k)
	}
}

// TestVersions: the kernel is of the version that cells display things with, and
// the advice on Jupyter is what the project runs its notebooks with.
func TestVersions(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(repo, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if ours, kernel := version(mod, tools[0][1]), version(toolsMod, tools[0][1]); ours != kernel || ours == "unknown" {
		t.Errorf("go.mod has gonb %s, tools.mod %s", ours, kernel)
	}
	pins, err := os.ReadFile(filepath.Join(repo, ".ci", "notebooks.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range strings.Fields(installJupyter) {
		if strings.Contains(word, "==") && !strings.Contains(string(pins), "\n"+word+" ") {
			t.Errorf("%s is not in .ci/notebooks.txt", word)
		}
	}
}

func TestNew(t *testing.T) {
	t.Chdir(t.TempDir())
	var out strings.Builder
	words := func(w ...string) error { return Command(context.Background(), &out, w, Flags{}) }
	if err := words("new", "my study"); err != nil || !strings.HasPrefix(out.String(), "my study.ipynb: open it with") {
		t.Errorf("%v, %s", err, &out)
	}
	f, err := read("my study.ipynb")
	if err != nil || f.Cells[0].Source[:10] != "# my study" {
		t.Errorf("%v, %+v", err, f)
	}
	for word, want := range map[string]string{"my study": "my study.ipynb is there already", "": "must be the name of a file", `a"b`: "must be the name", "no/folder/a": "no such file"} {
		if err := words("new", word); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("new %q: error %v, want one with %q", word, err, want)
		}
	}
	for _, w := range [][]string{nil, {"nonsense"}, {"new"}} {
		if err := words(w...); err == nil {
			t.Errorf("%q: no error", w)
		}
	}
}
