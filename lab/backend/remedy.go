package backend

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// The packages that hold XLA's plugins. They are of one date.
const (
	cpuPackage  = "lammps-jax-pjrt-cpu==0.11.2"
	cudaPackage = `"jax[cuda13]==0.11.2"`
)

// install is the one command that installs XLA for a platform ("" means the
// machine's best).
func install(platform string) string {
	if platform == "" {
		platform = "cpu"
		if nvidiaVisible() {
			platform = "cuda"
		}
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Sprintf("put pjrt_c_api_%s_plugin.so into a folder that PJRT_PLUGIN_LIBRARY_PATH names", platform)
	}
	pip := "python3 -m pip install "
	if askPython().Managed { // the system's Python refuses pip: use a folder that is searched
		pip = "python3 -m venv .venv && .venv/bin/python3 -m pip install "
	}
	if platform == "cuda" {
		return pip + cudaPackage
	}
	return pip + "--no-deps " + cpuPackage
}

const (
	noDevice  = "see what nvidia-smi and CUDA_VISIBLE_DEVICES say"
	oldDriver = "update NVIDIA's driver, or install the plugin of an older CUDA"
	taken     = "the device's memory is taken: nvidia-smi lists by whom"
	noTools   = "CUDA's tools and libraries are not beside the plugin: doctor says what to install"
	noKernel  = "KALMARZ_KERNELS=off takes the graph form instead of a fused kernel"
)

// remedies maps what a plugin, a driver, a compiler or the loader says to what
// helps.
var remedies = []struct{ says, do string }{
	{"libcuda.so", "install NVIDIA's driver"},
	{"driver version is insufficient", oldDriver},
	{"UNSUPPORTED_PTX_VERSION", oldDriver},
	{"SYSTEM_DRIVER_MISMATCH", "NVIDIA's driver and its libraries differ: restart the machine or reinstall the driver"},
	{"NO_DEVICE", noDevice},
	{"no CUDA-capable device", noDevice},
	{"No visible GPU", noDevice},
	{"no supported devices found", noDevice},
	{"failed call to cuInit", noDevice},
	{"gpu.triton", noKernel},
	{"Triton", noKernel},
	{"hared memory size limit exceeded", noKernel},
	{"RESOURCE_EXHAUSTED", taken},
	{"OUT_OF_MEMORY", taken},
	{"ptxas", noTools},
	{"libdevice", noTools},
	{"GLIBC", "the plugin was built for a newer system: install an older package or update the system"},
	{"already uses", "use one plugin for a platform"},
	{"built without XLA", "build with cgo and without the tag noxla"},
	{"no GetPjrtApi", "it is no plugin of XLA: take it out of the folder, or name another file"},
}

// helps is what to do about a text; "" if nothing is known.
func helps(text string) string {
	for _, r := range remedies {
		if strings.Contains(text, r.says) {
			return r.do
		}
	}
	return ""
}

// remedy is the one thing to do about a plugin that cannot be used.
func remedy(p Plugin, err error) string {
	do := helps(err.Error())
	switch old := p.driverTooOld(nvidiaDevices()); {
	case old != "" && (do == noDevice || do == ""):
		return old + ": " + oldDriver
	case do == noDevice && !nvidiaVisible():
		return noDeviceHere()
	case do != "":
		return do
	}
	return "reinstall it: " + install(p.Platform)
}

// oneLine shortens an error to what fits on a line.
func oneLine(err error) string {
	const most = 300
	s := strings.Join(strings.Fields(err.Error()), " ")
	if len(s) > most {
		s = s[:most] + "..."
	}
	return s
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }
