package backend

import (
	"os"
	"runtime"
	"strings"
)

// fmaSetting turns off the fused multiply-add of package math. In a SIMD build on
// x86-64 the upper halves of the vector registers stay in use, and math's mix of
// old and new instructions then costs up to a hundredfold: math.Exp can take
// 800 ns instead of 7.
const fmaSetting = "cpu.fma=off"

// withoutFMA says whether GODEBUG already decides about it, either way.
func withoutFMA(godebug string) (off, decided bool) {
	for setting := range strings.SplitSeq(godebug, ",") {
		if value, found := strings.CutPrefix(setting, "cpu.fma="); found {
			off, decided = value == "off", true
		}
	}
	return off, decided
}

// environment is environ with the setting added to GODEBUG.
func environment(environ []string) []string {
	out := make([]string, 0, len(environ)+1)
	debug := fmaSetting
	for _, entry := range environ {
		if value, found := strings.CutPrefix(entry, "GODEBUG="); found {
			if value != "" {
				debug = value + "," + fmaSetting
			}
			continue
		}
		out = append(out, entry)
	}
	return append(out, "GODEBUG="+debug)
}

// Environment returns a variable and the value with which SIMD programs on this
// machine are best started, so that Prepare need not start them anew; "" if there
// is none.
func Environment() (name, value string) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return "", ""
	}
	return "GODEBUG", fmaSetting
}

// Prepare starts the program anew, in the same process, with GODEBUG=cpu.fma=off
// if it needs that and GODEBUG says nothing about it. The runtime reads the
// variable before any Go code runs, so it cannot be set later. Call it first
// thing in main; it returns an error if the program cannot be started anew, which
// may then go on, slower. Elsewhere than in a SIMD build on Linux it does nothing.
func Prepare() error {
	if _, decided := withoutFMA(os.Getenv("GODEBUG")); decided {
		return nil
	}
	return restart(environment(os.Environ()))
}
