package backend

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// touch makes an empty file and its folders.
func touch(t *testing.T, path ...string) string {
	t.Helper()
	file := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	env := map[string]string{
		"PJRT_PLUGIN_LIBRARY_PATH": filepath.Join(root, "given") + ":" + filepath.Join(root, "absent") + "::relative",
		"VIRTUAL_ENV":              filepath.Join(root, "active"),
		"LD_LIBRARY_PATH":          filepath.Join(root, "ld"),
	}
	site := filepath.Join(root, "python", "site-packages")
	given := touch(t, root, "given", "pjrt_c_api_cpu_plugin.so")
	touch(t, root, "given", "pjrt_readme.txt")
	active := touch(t, root, "active/lib/python3.12/site-packages/lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so")
	touch(t, root, "active/lib/python3.12/site-packages/lammps_jax_pjrt_cpu-0.11.2.dist-info/METADATA")
	local := touch(t, root, "work/.venv/lib64/python3.11/site-packages/jax_plugins/xla_cuda12/xla_cuda_plugin.so")
	own := touch(t, root, "home/.local/lib/go-xla/pjrt_c_api_cpu_v0.114.0_plugin.so")
	ownNVIDIA := touch(t, root, "home/.local/lib/go-xla/nvidia/pjrt_c_api_cuda_plugin.so")
	system := touch(t, root, "system/pjrt-plugin-tpu.so")
	cuda13 := touch(t, site, "jax_plugins/xla_cuda13/xla_cuda_plugin.so")
	cuda12 := touch(t, site, "jax_plugins/xla_cuda12/xla_cuda_plugin.so")
	touch(t, site, "jax_cuda13_pjrt-0.11.2.dist-info/METADATA")
	touch(t, site, "nvidia/cu13/lib/libcudart.so.13")
	if err := os.MkdirAll(filepath.Join(root, "ld"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(given, filepath.Join(root, "ld", "pjrt_c_api_cpu_plugin.so")); err != nil { // the same file again
		t.Fatal(err)
	}
	listed := touch(t, root, "listed", "pjrt_c_api_cpu_plugin.so")
	touch(t, root, "conf.d/a.conf")
	write(t, filepath.Join(root, "conf.d/a.conf"), "# folders\n"+filepath.Join(root, "listed")+"\n")
	write(t, filepath.Join(root, "ld.so.conf"), "include conf.d/*.conf\ninclude ld.so.conf\n")

	f := &finder{
		getenv: func(name string) string { return env[name] },
		home:   filepath.Join(root, "home"), work: filepath.Join(root, "work"), system: []string{filepath.Join(root, "system")},
		ldConf: filepath.Join(root, "ld.so.conf"),
		python: func() python { return python{Sites: []string{site}} },
	}
	want := []Plugin{
		{Platform: "cpu", Path: given, Source: "PJRT_PLUGIN_LIBRARY_PATH"},
		{Platform: "cpu", Path: active, Source: "VIRTUAL_ENV", Package: "lammps-jax-pjrt-cpu 0.11.2"},
		{Platform: "cuda", Path: local, Source: ".venv"},
		{Platform: "cpu", Path: own, Source: "go-xla's folders"},
		{Platform: "cuda", Path: ownNVIDIA, Source: "go-xla's folders", Libraries: filepath.Dir(ownNVIDIA)},
		{Platform: "tpu", Path: system, Source: "go-xla's folders"},
		{Platform: "cuda", Path: cuda13, Source: "python3's site-packages", Package: "jax-cuda13-pjrt 0.11.2", Libraries: filepath.Join(site, "nvidia")},
		{Platform: "cuda", Path: cuda12, Source: "python3's site-packages", Libraries: filepath.Join(site, "nvidia")},
		{Platform: "cpu", Path: listed, Source: filepath.Join(root, "ld.so.conf")},
	}
	got := f.find()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("missed %+v", want[i])
		case i >= len(want):
			t.Errorf("found %+v besides", got[i])
		case got[i] != want[i]:
			t.Errorf("%d: got %+v\nwant %+v", i, got[i], want[i])
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestCUDAFlags(t *testing.T) {
	root := t.TempDir()
	touch(t, root, "13/nvidia/cu13/nvvm/libdevice/libdevice.10.bc")
	touch(t, root, "12/nvidia/cuda_nvcc/bin/ptxas")
	touch(t, root, "a b/nvidia/cu13/lib")
	cu13, cu12 := filepath.Join(root, "13/nvidia"), filepath.Join(root, "12/nvidia")
	tests := []struct{ flags, libraries, want string }{
		{"", "", ""},
		{" --a=1  --b=2", "", "--a=1 --b=2"},
		{"", cu13, "--xla_gpu_cuda_data_dir=" + cu13 + "/cu13"},
		{"--xla_dump_to=/d", cu12, "--xla_dump_to=/d --xla_gpu_cuda_data_dir=" + cu12 + "/cuda_nvcc"},
		{"--xla_gpu_cuda_data_dir=/usr", cu13, "--xla_gpu_cuda_data_dir=/usr"},
		{"", filepath.Join(root, "a b/nvidia"), ""}, // XLA splits its flags at spaces
		{"", root, ""},
	}
	for _, test := range tests {
		if got := cudaFlags(test.flags, test.libraries, false); got != test.want {
			t.Errorf("cudaFlags(%q, %q) = %q, want %q", test.flags, strings.TrimPrefix(test.libraries, root), got, test.want)
		}
	}
	const on, off = "--xla_gpu_enable_triton_gemm=true", "--xla_gpu_enable_triton_gemm=false"
	if got := cudaFlags("", "", true); got != off {
		t.Errorf("full float32: %q", got)
	}
	if got := cudaFlags(on, "", true); got != on {
		t.Errorf("full float32, the flag given: %q", got)
	}
}

func TestPlatformOf(t *testing.T) {
	for path, want := range map[string]string{
		"/cuda/pjrt_c_api_cpu_plugin.so":       "cpu", // the folder's name does not count
		"/x/pjrt_c_api_cpu_v0.114.0_plugin.so": "cpu",
		"/x/pjrt_plugin_metal.dylib":           "metal",
		"/x/pjrt-plugin-tpu_v1.so":             "tpu",
		"/x/xla_cuda_plugin.so":                "cuda",
		"/x/libcuda.so":                        "",
		"/x/pjrt_c_api_cpu_plugin.so.bak":      "",
	} {
		if got := platformOf(path); got != want {
			t.Errorf("platformOf(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestVisibleDevices(t *testing.T) {
	for _, c := range []struct {
		chosen string
		all    int
		want   []string
	}{
		{"", 2, []string{"0", "1"}}, {"", 0, []string{"0"}}, {"3", 8, []string{"3"}}, {"1, 0", 2, []string{"1", "0"}}, {"GPU-a,GPU-b", 2, []string{"GPU-a", "GPU-b"}},
	} {
		if got := visibleDevices(c.chosen, c.all); !slices.Equal(got, c.want) {
			t.Errorf("CUDA_VISIBLE_DEVICES=%q of %d: %v, want %v", c.chosen, c.all, got, c.want)
		}
	}
}
