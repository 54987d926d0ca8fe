package backend

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// nvidiaVisible says whether the system shows an NVIDIA device that this process
// may use.
var nvidiaVisible = sync.OnceValue(func() bool {
	if hiddenHere() != "" {
		return false
	}
	for _, pattern := range []string{"/dev/nvidia[0-9]*", "/proc/driver/nvidia/gpus/*"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return true
		}
	}
	return len(nvidiaDevices()) > 0 // Windows' Linux has a device of another name
})

// nvidiaDevices lists name, memory and driver of each device, as nvidia-smi
// prints them; empty without nvidia-smi.
var nvidiaDevices = sync.OnceValue(func() []string {
	out, err := ask(10*time.Second, "nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader")
	if err != nil {
		return nil
	}
	var devices []string
	for line := range strings.Lines(out) {
		if fields := strings.Split(strings.TrimSpace(line), ", "); len(fields) == 3 {
			devices = append(devices, fields[0]+", "+fields[1]+", driver "+fields[2])
		}
	}
	return devices
})

// VisibleDevices lists the NVIDIA devices that this process may use, as
// CUDA_VISIBLE_DEVICES names them.
func VisibleDevices() []string {
	return visibleDevices(os.Getenv("CUDA_VISIBLE_DEVICES"), len(nvidiaDevices()))
}

func visibleDevices(chosen string, all int) (out []string) {
	for name := range strings.SplitSeq(chosen, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	for i := 0; chosen == "" && i < max(1, all); i++ { // there is one, or XLA would not have been chosen
		out = append(out, strconv.Itoa(i))
	}
	return out
}

// cudaFlags completes XLA_FLAGS, which XLA reads when its first client is made. A
// flag that is there already stays as it is.
//
// It says where CUDA's tools and device library are, since XLA seeks them in the
// system's folders: the packages of CUDA 13 have them in nvidia/cu13, those of
// CUDA 12 in nvidia/cuda_nvcc.
//
// With products in full float32 it leaves them to cuBLAS. XLA would otherwise time
// hundreds of kernels of its own against it for each shape, which on an H200 took
// 1 s for [64,64] and 10 s for [1024,1024] to end at the same speed, instead of
// 0.03 s and 0.09 s. Large bfloat16 products lose a tenth of their speed by it:
// XLA_FLAGS=--xla_gpu_enable_triton_gemm=true brings that back.
func cudaFlags(flags, libraries string, fullFloat32 bool) string {
	const data, triton = "--xla_gpu_cuda_data_dir=", "--xla_gpu_enable_triton_gemm="
	list := strings.Fields(flags)
	if !strings.Contains(flags, data) && libraries != "" && !strings.ContainsAny(libraries, " \t'\"") {
		for _, name := range []string{"cu13", "cuda_nvcc"} {
			if dir := filepath.Join(libraries, name); exists(dir) {
				list = append(list, data+dir)
				break
			}
		}
	}
	if fullFloat32 && !strings.Contains(flags, triton) {
		list = append(list, triton+"false")
	}
	return strings.Join(list, " ")
}
