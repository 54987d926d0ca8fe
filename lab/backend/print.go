package backend

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Print writes the report, a line for each fact and two for each thing missing.
func (r Report) Print(w io.Writer) error {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "%-9s %s\n", label, fmt.Sprintf(format, args...))
	}
	line("versions", "%s", strings.Join(r.Versions, ", "))
	line("system", "%s", r.System)
	line("SIMD", "%s", pick(r.SIMD, "yes", "no: built without GOEXPERIMENT=simd, so pure Go is about 6 times slower"))
	if needsFMAOff {
		line("GODEBUG", "%s", pick(r.FMAOff, "cpu.fma=off", "without cpu.fma=off: math.Exp can be a hundred times slower"))
	}
	if r.Failure == "" {
		line("backend", "%s", r.Choice)
	} else {
		line("backend", "none: %s", r.Failure)
	}
	for _, warning := range r.Choice.Warnings {
		line("", "warning: %s", warning)
	}
	for _, device := range r.Devices {
		line("device", "%s", device)
	}
	if r.Product != "" {
		line("product", "%s", r.Product)
	}
	for _, k := range r.Kernels {
		line("kernels", "%s", k)
	}
	for _, p := range r.Plugins {
		line("plugin", "%s", p)
	}
	if len(r.Plugins) == 0 {
		line("plugin", "none found")
	}
	for _, lost := range r.Lost { // unless it has been said above
		if !slices.Contains(r.Choice.Warnings, lost) && !strings.Contains(r.Failure, lost) {
			line("", "%s", lost)
		}
	}
	for _, device := range r.NVIDIA {
		line("NVIDIA", "%s", device)
	}
	if len(r.NVIDIA) == 0 {
		line("NVIDIA", "%s", pick(nvidiaVisible(), "a device, but nvidia-smi does not describe it", noDeviceHere()))
	}
	line("python3", "%s", pick(r.Python != "", r.Python, "none"))
	for _, m := range r.Missing {
		line("missing", "%s", m.What)
		line("", "%s", m.Install)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// String is one line: the platform, where the plugin is, what it is and how it
// was found.
func (p PluginState) String() string {
	notes := unique([]string{p.Package, p.Source})
	if p.Problem != "" {
		return fmt.Sprintf("%s: %s (%s) %s", p.Platform, p.Path, strings.Join(notes, ", "), p.Problem)
	}
	if p.Libraries != "" {
		notes = append(notes, "CUDA's libraries in "+p.Libraries)
	}
	return fmt.Sprintf("%s: %s (PJRT %s, %s)", p.Platform, p.Path, p.Version, strings.Join(notes, ", "))
}

func pick(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}
