package backend

import (
	"errors"
	"strings"
	"testing"
)

// The words of XLA, of CUDA and of the loader, each with the one thing to do.
func TestReason(t *testing.T) {
	const execute = `failed to execute graph "step#1": backend "xla": failed to execute computation "step#1": PJRT error (code=8): `
	const compile = `failed during graph construction/compilation: compilation failed for Exec "a": backend "xla": failed to compile computation "a#1": PJRT error (code=13): `
	for _, c := range []struct{ says, want string }{
		{execute + "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 68719476736 bytes.\nstack", "out of device memory: 68.7 GB more were asked for; " + lessMemory},
		{execute + "RESOURCE_EXHAUSTED: Out of memory allocating 1572864 bytes.", "out of device memory: 1.57 MB more were asked for; " + lessMemory},
		{execute + "RESOURCE_EXHAUSTED: Failed to allocate request for 16.00GiB (17179869184B) on device ordinal 0", "out of device memory: 17.2 GB more were asked for; " + lessMemory},
		{"INTERNAL: CUDA_ERROR_OUT_OF_MEMORY: out of memory", "out of device memory; " + lessMemory},
		{"CUBLAS_STATUS_ALLOC_FAILED", "out of device memory; " + lessMemory},
		{compile + "RESOURCE_EXHAUSTED: Shared memory size limit exceeded: requested 262144, available: 232448", "RESOURCE_EXHAUSTED: Shared memory size limit exceeded: requested 262144, available: 232448; " + noKernel},
		{compile + "UNIMPLEMENTED: No registered implementation for custom call to __gpu$xla.gpu.triton for platform Host", "UNIMPLEMENTED: No registered implementation for custom call to __gpu$xla.gpu.triton for platform Host; " + noKernel},
		{compile + "INTERNAL: Failed to compile Triton kernel.", "INTERNAL: Failed to compile Triton kernel.; " + noKernel},
		{compile + "INTERNAL: ptxas exited with non-zero error code 65280", "INTERNAL: ptxas exited with non-zero error code 65280; " + noTools},
		{`graph "a#1" failed to compile for the backend "xla": backend "xla": failed to compile computation "a#1": failed to compile the program: PJRT error (code=2): no such operation`, "no such operation"},
		{`graphFn for "a" panicked: delta: k is (Float32)[1 2], expected dimensions [[1 2 3 4]]`, "delta: k is (Float32)[1 2], expected dimensions [[1 2 3 4]]"},
		{"eta = 3: must be in [0, 2]", "eta = 3: must be in [0, 2]"},
	} {
		if got := Reason(errors.New(c.says)); got != c.want {
			t.Errorf("%q\nis    %q\nwant  %q", c.says, got, c.want)
		}
	}
}

func TestRemedies(t *testing.T) {
	cuda := Plugin{Platform: "cuda", Path: "/p/jax_plugins/xla_cuda13/xla_cuda_plugin.so"}
	none := noDevice
	if !nvidiaVisible() {
		none = noDeviceHere()
	}
	for _, c := range []struct{ says, want string }{
		{"libcuda.so.1: cannot open shared object file: No such file or directory", "install NVIDIA's driver"},
		{"INTERNAL: CUDA driver version is insufficient for CUDA runtime version", oldDriver},
		{"INTERNAL: CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the provided PTX was compiled with an unsupported toolchain", oldDriver},
		{"FAILED_PRECONDITION: No visible GPU devices", none},
		{"INTERNAL: no supported devices found for platform CUDA", none},
		{"CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected", none},
		{"INTERNAL: failed call to cuInit: UNKNOWN ERROR (303)", none},
		{"RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1073741824 bytes", taken},
		{"/lib/libm.so.6: version `GLIBC_2.38' not found", "the plugin was built for a newer system: install an older package or update the system"},
		{"invalid ELF header", "reinstall it: " + install("cuda")},
	} {
		if got := remedy(cuda, errors.New(c.says)); got != c.want {
			t.Errorf("%q: %q, want %q", c.says, got, c.want)
		}
	}
}

func TestDriverTooOld(t *testing.T) {
	cuda13 := Plugin{Platform: "cuda", Path: "/p/jax_plugins/xla_cuda13/xla_cuda_plugin.so"}
	cuda12 := Plugin{Platform: "cuda", Path: "/x/pjrt_c_api_cuda_plugin.so", Package: "jax-cuda12-pjrt 0.6.0"}
	unknown := Plugin{Platform: "cuda", Path: "/x/pjrt_c_api_cuda_plugin.so"}
	old, new := []string{"NVIDIA A, 80 GiB, driver 535.104.05"}, []string{"NVIDIA A, 80 GiB, driver 580.159.04"}
	for _, c := range []struct {
		p       Plugin
		devices []string
		want    string
	}{
		{cuda13, old, "driver 535.104.05 is too old for the plugin's CUDA 13, which needs 580 or later"},
		{cuda13, append(new, old...), "driver 535.104.05 is too old for the plugin's CUDA 13, which needs 580 or later"},
		{cuda12, []string{"NVIDIA B, 16 GiB, driver 470"}, "driver 470 is too old for the plugin's CUDA 12, which needs 525 or later"},
		{cuda12, old, ""}, {cuda13, new, ""}, {unknown, old, ""}, {cuda13, nil, ""}, {cuda13, []string{"NVIDIA C, 1 GiB, driver [N/A]"}, ""},
	} {
		if got := c.p.driverTooOld(c.devices); got != c.want {
			t.Errorf("%s, %v: %q, want %q", c.p.Path, c.devices, got, c.want)
		}
	}
	r := Report{Plugins: []PluginState{{Plugin: cuda13}}, NVIDIA: old}
	r.Missing = missing(r, true)
	var out strings.Builder
	if err := r.Print(&out); err != nil || !strings.Contains(out.String(), "missing   a driver for "+cuda13.Path+": driver 535.104.05 is too old") || !strings.Contains(out.String(), oldDriver) {
		t.Errorf("%v\n%s", err, &out)
	}
}

func TestNoDevice(t *testing.T) {
	for _, c := range []struct {
		value string
		set   bool
		want  string
	}{
		{"", false, ""}, {"0", true, ""}, {"GPU-a", true, ""},
		{"", true, `CUDA_VISIBLE_DEVICES="" hides NVIDIA's devices: unset it, or name one, as 0`},
		{"-1", true, `CUDA_VISIBLE_DEVICES="-1" hides NVIDIA's devices: unset it, or name one, as 0`},
	} {
		if got := hiddenDevices(c.value, c.set); got != c.want {
			t.Errorf("CUDA_VISIBLE_DEVICES=%q, %v: %q, want %q", c.value, c.set, got, c.want)
		}
	}
	for maker, c := range map[string]struct{ id, want string }{
		"none":   {"", "no NVIDIA device: take xla:cpu or go"},
		"NVIDIA": {"0x10de\n", "an NVIDIA device without its driver: install NVIDIA's driver"},
		"AMD":    {"0x1002\n", "no NVIDIA device, but one of AMD, which no plugin here is for: take xla:cpu or go"},
		"other":  {"0x1234\n", "no NVIDIA device: take xla:cpu or go"},
	} {
		dir := t.TempDir()
		if c.id != "" {
			write(t, touch(t, dir, "card0", "device", "vendor"), c.id)
		}
		if got := noDeviceAmong(vendors(dir)); got != c.want {
			t.Errorf("%s: %q, want %q", maker, got, c.want)
		}
	}
	ch := machine("", false, nil, cudaFile)
	ch.hidden = func() string { return hiddenDevices("", true) }
	if _, err := ch.choose("xla:cuda"); err == nil || err.Error() != `backend "xla:cuda": `+hiddenDevices("", true) {
		t.Errorf("a hidden device that was asked for: %v", err)
	}
	if c, err := ch.choose(""); err != nil || c.Config != PureGo {
		t.Errorf("a hidden device: %v, %v", c, err)
	}
}
