package backend

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// product checks that a backend computes, in full float32.
func product(t *testing.T, request, config string) {
	t.Helper()
	be, choice, err := Open(request)
	if err != nil {
		t.Fatal(err)
	}
	defer be.Finalize()
	if choice.Config != config {
		t.Errorf("opened %s, want %s", choice.Config, config)
	}
	worst, _, err := Product(be, 96)
	if err != nil {
		t.Fatal(err)
	}
	if !(worst < 2e-6) {
		t.Errorf("%s: a float32 product is off by %.1e", choice.Config, worst)
	}
}

func TestOpenGo(t *testing.T) {
	product(t, "go", PureGo)
	product(t, "go:ops_sequential", "go:ops_sequential")
	if _, _, err := Open("go:speed=11"); err == nil || !strings.Contains(err.Error(), `"speed"`) {
		t.Errorf("an unknown option: %v", err)
	}
}

func TestOpenXLA(t *testing.T) {
	if len(only(newFinder().find(), "cpu")) == 0 {
		t.Skip("no XLA plugin for CPUs here; install one: " + install("cpu"))
	}
	product(t, "xla:cpu", "xla:cpu")
	product(t, "xla:cpu", "xla:cpu") // a second client of one plugin
}

func TestOpenCUDA(t *testing.T) {
	if !nvidiaVisible() || len(only(newFinder().find(), "cuda")) == 0 {
		t.Skip("no NVIDIA device here, or no XLA plugin for it")
	}
	product(t, "xla:cuda", "xla:cuda,tf32=false")
}

// TestOpenFallsBack has plugins that do not load, one of them a real library of
// an old version: automatic choice ends at pure Go with a line for each.
func TestOpenFallsBack(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "pjrt_c_api_cpu_plugin.so")
	write(t, text, "no library\n")
	old := filepath.Join(dir, "old", "pjrt_c_api_cpu_plugin.so")
	touch(t, old)
	source := filepath.Join(dir, "old.c")
	write(t, source, `#include <stddef.h>
static struct { size_t size; void *ext; size_t vsize; void *vext; int major, minor; } api = {40, 0, 24, 0, 0, 54};
void *GetPjrtApi(void) { return &api; }
`)
	want := []string{"reinstall it: "}
	paths := []string{text}
	if cc, err := exec.LookPath("cc"); err == nil && runtime.GOOS == "linux" {
		if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", old, source).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		paths, want = append(paths, old), append(want, "it has version 0.54 of the PJRT C API, and 0.104 or a later 0.x is needed")
	}
	ch := machine("", false, nil, paths...)
	ch.load = newChooser().load
	be, choice, err := ch.open("")
	if err != nil {
		t.Fatal(err)
	}
	defer be.Finalize()
	if choice.Config != PureGo || len(choice.Warnings) != len(want) {
		t.Fatalf("opened %s with warnings %q", choice, choice.Warnings)
	}
	for i, w := range want {
		if !strings.Contains(choice.Warnings[i], w) && !strings.Contains(choice.Warnings[i], "built without XLA") {
			t.Errorf("warning %q does not say %q", choice.Warnings[i], w)
		}
	}
}

// TestOpenFailure has a plugin that loads and then fails to open.
func TestOpenFailure(t *testing.T) {
	path := touch(t, t.TempDir(), "pjrt_c_api_cpu_plugin.so")
	ch := machine("", false, nil, path)
	_, choice, err := ch.open("") // the file is no library, though load has nothing against it
	if err != nil || choice.Config != PureGo || len(choice.Warnings) != 1 || strings.Count(choice.Warnings[0], ";") != 1 {
		t.Errorf("automatic: %s, %q, %v", choice.Config, choice.Warnings, err)
	}
	if _, _, err := machine("", false, nil, path).open("xla:cpu"); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("asked for: %v", err)
	}
}
