package backend

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// machine is a chooser for a machine that does not exist.
func machine(env string, gpu bool, broken []string, plugins ...string) *chooser {
	return &chooser{
		getenv: func(name string) string {
			if name == EnvVar {
				return env
			}
			return ""
		},
		plugins: func() (list []Plugin) {
			for _, path := range plugins {
				list = append(list, describe(path, "test"))
			}
			return list
		},
		load: func(p Plugin) error {
			if slices.Contains(broken, p.Path) {
				return errors.New("invalid ELF header")
			}
			return nil
		},
		gpu:    func() bool { return gpu },
		hidden: func() string { return "" },
		lost:   func() []string { return nil },
	}
}

const (
	cpuFile  = "/a/pjrt_c_api_cpu_plugin.so"
	cudaFile = "/b/xla_cuda_plugin.so"
)

func TestChoose(t *testing.T) {
	both := []string{cpuFile, cudaFile}
	tests := []struct {
		name, request, env string
		gpu                bool
		broken, plugins    []string
		config, plugin     string
		why                string
		warnings           int
	}{
		{name: "bare machine", config: PureGo, why: "no XLA plugin was found"},
		{name: "auto by name", request: "auto", config: PureGo},
		{name: "CPU plugin", plugins: both, config: "xla:cpu", plugin: cpuFile},
		{name: "device and plugin", plugins: both, gpu: true, config: "xla:cuda,tf32=false", plugin: cudaFile},
		{name: "device without plugin", plugins: both[:1], gpu: true, config: "xla:cpu", plugin: cpuFile, warnings: 1},
		{name: "broken plugin", plugins: both[:1], broken: both, config: PureGo, why: "no XLA plugin can be used", warnings: 1},
		{name: "broken for the device", plugins: both, gpu: true, broken: both[1:], config: "xla:cpu", plugin: cpuFile, warnings: 1},
		{name: "all broken", plugins: both, gpu: true, broken: both, config: PureGo, warnings: 2},
		{name: "second of two", plugins: []string{"/x/pjrt_c_api_cpu_plugin.so", cpuFile}, broken: []string{"/x/pjrt_c_api_cpu_plugin.so"},
			config: "xla:cpu", plugin: cpuFile, warnings: 1},
		{name: "go asked for", request: "go", plugins: both, config: PureGo, why: "asked for"},
		{name: "bare go in the variable", env: "go", plugins: both, config: PureGo, why: "GOMLX_BACKEND=go"},
		{name: "go with a colon", env: "go:", config: PureGo},
		{name: "sequential stays", env: "go:ops_sequential", config: "go:ops_sequential"},
		{name: "parallel is made safe", env: "go:ops_parallel", config: "go:parallelism=-1,ops_parallel"},
		{name: "none is safe", env: "go:parallelism=0", config: "go:parallelism=0"},
		{name: "bounded is respected", env: "go:parallelism=8", config: "go:parallelism=8", warnings: 1},
		{name: "request before variable", request: "xla:cpu", env: "go", plugins: both, config: "xla:cpu", plugin: cpuFile},
		{name: "variable before finding", env: "xla:cpu", plugins: both, gpu: true, config: "xla:cpu", plugin: cpuFile},
		{name: "xla takes the CPU", request: "xla", plugins: both, config: "xla:cpu", plugin: cpuFile},
		{name: "xla takes the device", request: "xla", plugins: both, gpu: true, config: "xla:cuda,tf32=false", plugin: cudaFile},
		{name: "alias", request: "stablehlo:cpu", plugins: both, config: "xla:cpu", plugin: cpuFile},
		{name: "TF32 on", request: "xla:cuda,tf32=true", plugins: both, config: "xla:cuda,tf32=true", plugin: cudaFile},
		{name: "options stay", request: "xla:cuda,preallocate=true", plugins: both, config: "xla:cuda,preallocate=true,tf32=false", plugin: cudaFile},
		{name: "another platform", request: "xla:tpu", plugins: []string{"/c/pjrt_c_api_tpu_plugin.so"}, config: "xla:tpu", plugin: "/c/pjrt_c_api_tpu_plugin.so"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := machine(test.env, test.gpu, test.broken, test.plugins...).choose(test.request)
			if err != nil {
				t.Fatal(err)
			}
			if c.Config != test.config || c.Plugin.Path != test.plugin || len(c.Warnings) != test.warnings {
				t.Errorf("got %s, plugin %q, warnings %q; want %s, %q, %d", c.Config, c.Plugin.Path, c.Warnings, test.config, test.plugin, test.warnings)
			}
			if !strings.Contains(c.String(), test.why) || c.Why == "" {
				t.Errorf("%q does not say %q", c, test.why)
			}
			if want, _, _ := strings.Cut(test.config, ","); test.plugin != "" && c.Platform != want || test.plugin == "" && c.Platform != "go" {
				t.Errorf("platform %q", c.Platform)
			}
			for _, w := range c.Warnings {
				if strings.Contains(w, "\n") || !strings.Contains(w, ":") {
					t.Errorf("warning %q names no remedy on its one line", w)
				}
			}
		})
	}
}

func TestChooseRefuses(t *testing.T) {
	plugins := []string{cpuFile}
	tests := []struct{ request, env, want string }{
		{request: "banana", want: "known: auto, go, xla, xla:cpu, xla:cuda"},
		{env: "pytorch", want: `unknown backend "pytorch"`},
		{request: "auto:fast", want: "auto takes no options"},
		{request: "xla:tpu", want: `unknown plugin "tpu"`},
		{request: "xla:cuda", want: "pip install"},
		{request: "xla:/no/such/file.so", want: "no file /no/such/file.so"},
		{request: "xla:cpu,speed=11", want: `unknown option "speed" (known: tf32`},
	}
	for _, test := range tests {
		_, err := machine(test.env, false, nil, plugins...).choose(test.request)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q, GOMLX_BACKEND=%q: got %v, want %q", test.request, test.env, err, test.want)
		}
	}
	_, err := machine("", false, plugins, plugins...).choose("xla:cpu")
	if err == nil || !strings.Contains(err.Error(), "invalid ELF header; reinstall it: ") {
		t.Errorf("a broken plugin that was asked for: %v", err)
	}
}
