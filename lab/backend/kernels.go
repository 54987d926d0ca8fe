package backend

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kalmarz/kalmarz/layers/kernels"
)

// kernelsOff says why fused kernels do not run on this machine's NVIDIA device,
// whatever the plugin; "" if they do. They are made for the shared memory of
// Hopper and Blackwell data-centre devices, compute capability 9.x and 10.x.
func kernelsOff() string {
	if kernels.Off() {
		return kernels.EnvVar + "=off"
	}
	if c := computeCapability(); c != "" && !strings.HasPrefix(c, "9.") && !strings.HasPrefix(c, "10.") {
		return fmt.Sprintf("they need compute capability 9.x or 10.x, and this device has %s", c)
	}
	return ""
}

// computeCapability is the least of this machine's devices; "" if nvidia-smi does
// not say.
var computeCapability = sync.OnceValue(func() string {
	out, err := ask(10*time.Second, "nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader")
	if err != nil {
		return ""
	}
	least := ""
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if v, err := strconv.ParseFloat(line, 64); err == nil {
			if old, err := strconv.ParseFloat(least, 64); err != nil || v < old {
				least = line
			}
		}
	}
	return least
})

// kernelLines describe the fused kernels for doctor.
func kernelLines(on bool, c Choice) []string {
	state := "on"
	switch {
	case on:
	case c.Platform != "xla:cuda":
		state = "off: the backend is not an NVIDIA device"
	case kernelsOff() != "":
		state = "off: " + kernelsOff()
	default:
		state = "off: " + noHook(c.Plugin)
	}
	var lines []string
	for _, e := range kernels.Registry {
		chosen := "by themselves for " + e.Pays
		if e.Pays == "" {
			chosen = "not yet checked on a device: only where form=kernel asks for them"
		}
		lines = append(lines, fmt.Sprintf("%s, %s: %s; %s", e.Name, state, e.Range, chosen))
	}
	return lines
}

// noHook is why the kernels do not run behind a plugin that works: its version, or
// a table that has no place for a compiler.
func noHook(p Plugin) string {
	if l, err := load(p.Path); err == nil {
		if why := l.noKernels(); why != "" {
			return why
		}
	}
	return "the plugin's table of functions is not one that programs can be rewritten behind; graphs run without"
}
