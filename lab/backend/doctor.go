package backend

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"

	"github.com/gomlx/compute"

	"github.com/kalmarz/kalmarz/layers/kernels"
)

// Report is what Examine found out about this program and this machine.
type Report struct {
	Versions []string // "name version", the program first
	System   string   // operating system, architecture, cores, memory
	SIMD     bool
	FMAOff   bool // GODEBUG has cpu.fma=off
	Choice   Choice
	Failure  string   // why no backend could be opened; "" if one was
	Devices  []string // of the backend that was opened
	Product  string   // what a small matrix product on it gave
	Kernels  []string // the operations that have fused kernels, on or off
	Plugins  []PluginState
	Lost     []string // what is wrong with where the environment says that plugins are
	NVIDIA   []string // name, memory, driver
	Python   string   // version of python3
	Missing  []Missing
}

// PluginState is a plugin and whether it can be used.
type PluginState struct {
	Plugin
	Version string // of its PJRT C API
	Problem string // "" if it loads
}

// Missing is something that is not there, what it is good for, and the command
// that brings it.
type Missing struct{ What, Install string }

// Examine looks at everything and opens the backend that the request leads to, as
// Open does.
func Examine(request string) Report {
	r := Report{
		Versions: versions(),
		System:   fmt.Sprintf("%s/%s, %d cores, %s", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), memory()),
		SIMD:     SIMD,
		NVIDIA:   nvidiaDevices(),
		Lost:     newFinder().lost(),
		Python:   askPython().Version,
	}
	r.FMAOff, _ = withoutFMA(os.Getenv("GODEBUG"))
	for _, p := range newFinder().find() {
		r.Plugins = append(r.Plugins, examine(p))
	}
	be, choice, err := Open(request)
	r.Choice = choice
	r.Kernels = kernelLines(err == nil && kernels.On(be), choice)
	if err == nil {
		err = r.try(be)
		be.Finalize()
	}
	if err != nil {
		r.Failure = oneLine(err)
	}
	_, err = exec.LookPath("rsvg-convert")
	r.Missing = missing(r, err == nil)
	return r
}

// examine loads a plugin. One for devices that are not there is left alone: it
// would complain about them on standard error.
func examine(p Plugin) PluginState {
	if p.Platform == "cuda" && !nvidiaVisible() {
		return PluginState{Plugin: p, Problem: "not tried: " + noDeviceHere()}
	}
	l, err := load(p.Path)
	if err != nil {
		return PluginState{Plugin: p, Problem: "does not load: " + oneLine(err) + "; " + remedy(p, err)}
	}
	return PluginState{Plugin: p, Version: l.String()}
}

// try lists the devices and has a product computed.
func (r *Report) try(be compute.Backend) error {
	for i := range be.NumDevices() {
		r.Devices = append(r.Devices, be.DeviceDescription(compute.DeviceNum(i)))
	}
	const size = 256
	worst, took, err := Product(be, size)
	if err != nil {
		return err
	}
	precision := "full float32"
	if !(worst < 1e-5) {
		precision = "less than float32"
	}
	r.Product = fmt.Sprintf("[%d,%d] float32, error %.1e (%s), first use %.2f s", size, size, worst, precision, took.Seconds())
	return nil
}

// missing lists what would make this installation complete.
func missing(r Report, rsvg bool) []Missing {
	var list []Missing
	add := func(absent bool, what, how string) {
		if absent {
			list = append(list, Missing{what, how})
		}
	}
	usable := func(platform string) bool {
		for _, p := range r.Plugins {
			if p.Platform == platform && p.Problem == "" {
				return true
			}
		}
		return false
	}
	add(!usable("cpu"), "XLA for CPUs, about four times as fast as pure Go", install("cpu"))
	if nvidiaVisible() {
		add(!usable("cuda"), "XLA for the NVIDIA device", install("cuda"))
	}
	for _, p := range r.Plugins {
		add(p.Platform == "cuda" && p.Problem == "" && p.Libraries == "",
			"CUDA's libraries beside "+p.Path, install("cuda"))
		old := p.driverTooOld(r.NVIDIA)
		add(old != "", "a driver for "+p.Path+": "+old, oldDriver)
	}
	add(!r.SIMD, "SIMD: pure Go is about six times slower without", "GOEXPERIMENT=simd go build ./cmd/kalmarz")
	add(needsFMAOff && !r.FMAOff, "GODEBUG=cpu.fma=off: math.Exp can be a hundred times slower without", "export GODEBUG=cpu.fma=off")
	add(!rsvg, "rsvg-convert, which makes better PDF figures than the built-in writer", "apt-get install -y librsvg2-bin fonts-liberation")
	return list
}

// Doctor examines and prints. It returns an error if no backend can be opened.
func Doctor(w io.Writer, request string) error {
	r := Examine(request)
	if err := r.Print(w); err != nil {
		return err
	}
	if r.Failure != "" {
		return fmt.Errorf("no backend can be used: %s", r.Failure)
	}
	return nil
}
