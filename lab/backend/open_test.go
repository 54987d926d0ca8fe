package backend

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kalmarz/kalmarz/layers/kernels"
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

// needsXLA skips a test where the program was built without XLA.
func needsXLA(t *testing.T) {
	t.Helper()
	if _, err := load("/no/such/plugin.so"); strings.Contains(err.Error(), "built without XLA") {
		t.Skip(err)
	}
}

func TestOpenXLA(t *testing.T) {
	needsXLA(t)
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

// shared compiles C into a shared object of a plugin's name; the test is skipped
// where nothing compiles C or loads it.
func shared(t *testing.T, name, c string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("no C compiler here that makes plugins")
	}
	path := filepath.Join(t.TempDir(), name)
	write(t, path+".c", c)
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", path, path+".c", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// table is a plugin that has nothing but the head of a table of functions.
func table(size, major, minor int) string {
	return fmt.Sprintf(`#include <stddef.h>
static struct { size_t size; void *ext; size_t vsize; void *vext; int major, minor; void *functions[200]; } api = {%d, 0, 24, 0, %d, %d};
void *GetPjrtApi(void) { return &api; }
`, size, major, minor)
}

// TestNoPlugin has what is not a plugin, or not one that can be used: automatic
// choice ends at pure Go with a line that says why, asking for it is an error with
// the same line, and doctor's line of the plugin has it too.
func TestNoPlugin(t *testing.T) {
	const file = "pjrt_c_api_cpu_plugin.so"
	fake := func(c string) func(t *testing.T) string {
		return func(t *testing.T) string { return shared(t, file, c) }
	}
	for name, test := range map[string]struct {
		path func(t *testing.T) string
		want string
	}{
		"text": {func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), file)
			write(t, path, strings.Repeat("no library\n", 100))
			return path
		}, "; reinstall it: " + install("cpu")},
		"another library": {fake("int answer(void) { return 42; }"), "it has no GetPjrtApi; it is no plugin of XLA: take it out of the folder, or name another file"},
		"no table":        {fake("void *GetPjrtApi(void) { return 0; }"), "GetPjrtApi returned nothing; reinstall it: " + install("cpu")},
		"old":             {fake(table(1144, 0, 54)), "it has version 0.54 of the PJRT C API, and 0.104 or a later 0.x is needed; reinstall it: " + install("cpu")},
		"next":            {fake(table(1144, 1, 0)), "it has version 1.0 of the PJRT C API, and 0.104 or a later 0.x is needed; reinstall it: " + install("cpu")},
		"short":           {fake(table(1000, 0, 115)), "its table of functions has 1000 bytes, and that of version 0.104 has 1120: it is damaged, or no plugin; reinstall it: " + install("cpu")},
	} {
		t.Run(name, func(t *testing.T) {
			needsXLA(t)
			path := test.path(t)
			ch := machine("", false, nil, path)
			ch.load = newChooser().load
			be, choice, err := ch.open("")
			if err != nil {
				t.Fatal(err)
			}
			defer be.Finalize()
			if choice.Config != PureGo || len(choice.Warnings) != 1 || !strings.HasSuffix(choice.Warnings[0], test.want) || strings.Contains(choice.Warnings[0], "\n") {
				t.Errorf("opened %s with warnings %q", choice, choice.Warnings)
			}
			if _, _, err := Open("xla:" + path); err == nil || !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("asked for: %v", err)
			}
			if p := examine(describe(path, "test")); !strings.HasPrefix(p.Problem, "does not load: ") || !strings.HasSuffix(p.Problem, test.want) {
				t.Errorf("doctor: %s", p)
			}
		})
	}
}

// TestNewerPlugin has XLA's plugin for CPUs say that it is for NVIDIA devices, and
// of a version that nobody has seen: graphs run, without kernels and with a line
// that says why.
func TestNewerPlugin(t *testing.T) {
	needsXLA(t)
	cpus := only(newFinder().find(), "cpu")
	if len(cpus) == 0 || nvidiaVisible() {
		t.Skip("no XLA plugin for CPUs here, or an NVIDIA device")
	}
	path := shared(t, "pjrt_c_api_cuda_plugin.so", fmt.Sprintf(`#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
static void *(*create)(size_t *);
static void *create_plainly(size_t *args) { // without the options of CUDA's
	args[2] = args[3] = 0;
	return create(args);
}
void *GetPjrtApi(void) {
	void *(*get)(void) = (void *(*)(void))dlsym(dlopen("%s", RTLD_NOW | RTLD_LOCAL), "GetPjrtApi");
	void **api = get(), **copy = malloc(*(size_t *)api);
	memcpy(copy, api, *(size_t *)api);
	((int *)copy)[9] = 130;
	create = (void *(*)(size_t *))api[5 + 10];
	copy[5 + 10] = create_plainly;
	return copy;
}
`, cpus[0].Path))
	be, choice, err := Open("xla:" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer be.Finalize()
	want := "no fused kernels: the plugin has version 0.130 of the PJRT C API, and kernels have run behind 0.104 to 0.115 alone; graphs run without, with them after: " + install("cuda")
	if choice.Platform != "xla:cuda" || kernels.On(be) || !slices.Equal(choice.Warnings, []string{want}) {
		t.Errorf("opened %s, kernels %v, warnings %q", choice, kernels.On(be), choice.Warnings)
	}
	if line := kernelLines(false, choice)[0]; !strings.Contains(line, "off: the plugin has version 0.130 ") {
		t.Errorf("doctor: %s", line)
	}
	if worst, _, err := Product(be, 32); err != nil || !(worst < 2e-6) {
		t.Errorf("a product is off by %.1e: %v", worst, err)
	}
}

// TestPluginPath has a variable that leads nowhere.
func TestPluginPath(t *testing.T) {
	dir := t.TempDir()
	file := touch(t, dir, "here", "pjrt_c_api_cpu_plugin.so")
	touch(t, dir, "empty", "pjrt_readme.txt")
	f := &finder{getenv: func(string) string {
		return strings.Join([]string{filepath.Dir(file), filepath.Join(dir, "gone"), file, filepath.Join(dir, "empty"), "relative", ""}, ":")
	}}
	want := []string{
		"PJRT_PLUGIN_LIBRARY_PATH names " + dir + "/gone: there is no such folder",
		"PJRT_PLUGIN_LIBRARY_PATH names " + file + ": is a file: name its folder",
		"PJRT_PLUGIN_LIBRARY_PATH names " + dir + "/empty: it holds no plugin, pjrt_c_api_cpu_plugin.so or of another platform",
		"PJRT_PLUGIN_LIBRARY_PATH names relative: must be an absolute path",
	}
	if got := f.lost(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	ch := machine("", false, nil)
	ch.lost = func() []string { return want[:1] }
	if c, err := ch.choose(""); err != nil || c.Config != PureGo || !slices.Equal(c.Warnings, want[:1]) || c.Why != "no XLA plugin was found" {
		t.Errorf("automatic: %s, %q, %v", c, c.Warnings, err)
	}
	if _, err := ch.choose("xla:cpu"); err == nil || !strings.Contains(err.Error(), "no XLA plugin was found; "+want[0]+"; install one: ") {
		t.Errorf("asked for: %v", err)
	}
	t.Setenv(pluginPathVar, filepath.Join(dir, "gone"))
	for _, request := range []string{"go", "xla:cuda"} {
		var out strings.Builder
		if err := Examine(request).Print(&out); err != nil || strings.Count(out.String(), want[0]) != 1 {
			t.Errorf("%s: %v\n%s", request, err, &out)
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
