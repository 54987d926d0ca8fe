package backend

import (
	"strings"
	"testing"
)

func TestDoctor(t *testing.T) {
	var out strings.Builder
	if err := Doctor(&out, "go"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"versions", "kalmarz ", "cores", PureGo + " (asked for)", "full float32", "python3"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	out.Reset()
	if err := Doctor(&out, "banana"); err == nil || !strings.Contains(out.String(), "none: unknown backend") {
		t.Errorf("an unknown backend: %v\n%s", err, &out)
	}
}

func TestReportNamesRemedies(t *testing.T) {
	bad := PluginState{Plugin: describe("/a/pjrt_c_api_cpu_plugin.so", ".venv"), Problem: "does not load: invalid ELF header"}
	good := PluginState{Plugin: Plugin{Platform: "cuda", Path: "/b/xla_cuda_plugin.so", Source: "x"}, Version: "0.115"}
	r := Report{Plugins: []PluginState{bad, good}, Choice: Choice{Config: PureGo, Why: "w", Warnings: []string{"careful"}}}
	r.Missing = missing(r, false)
	var out strings.Builder
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"cpu: /a/pjrt_c_api_cpu_plugin.so (.venv) does not load: invalid ELF header",
		"cuda: /b/xla_cuda_plugin.so (PJRT 0.115, x)", "warning: careful",
		"missing   XLA for CPUs", install("cpu"), "CUDA's libraries beside /b/xla_cuda_plugin.so", install("cuda"),
		"GOEXPERIMENT=simd go build", "apt-get install -y librsvg2-bin",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	whole := Report{SIMD: true, FMAOff: true, Plugins: []PluginState{{Plugin: Plugin{Platform: "cpu"}}, {Plugin: Plugin{Platform: "cuda", Libraries: "/n"}}}}
	if list := missing(whole, true); len(list) != 0 {
		t.Errorf("nothing is missing, yet: %q", list)
	}
}
