package backend

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Device says in one line on what the chosen backend computes: the GPUs, or the
// processor and its cores. It does not name the machine.
func (c Choice) Device() string {
	if c.Platform == "xla:cuda" {
		return strings.Join(nvidiaDevices(), "; ")
	}
	s := fmt.Sprintf("%s, %d cores", processor(), runtime.NumCPU())
	if c.Platform == "go" && SIMD {
		s += ", simd"
	}
	return s
}

// processor is the processor's own name where the system tells it.
func processor() string {
	b, _ := os.ReadFile("/proc/cpuinfo") // elsewhere there is none
	for line := range strings.Lines(string(b)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
