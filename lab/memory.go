package lab

import (
	"fmt"
	"math"
	"runtime"
	"strings"
)

// A Memory is the most that a run took, and what was measured: on Linux the
// process's resident set from the run's first step to its end, which holds what
// the session had before too; on a device with memory of its own the largest of the
// programs that ran.
type Memory struct {
	Bytes int64  `json:"bytes"`
	Of    string `json:"of"`
}

const (
	residentInRun     = "resident set of the process during the run"
	residentInProcess = "resident set of the process since it began" // where the kernel does not let it be reset
	goRuntime         = "memory that the Go runtime obtained since the process began"
)

// more is the larger of two measurements of parts of a run. What was measured of
// something else does not count.
func (m Memory) more(other Memory) Memory {
	if other.Bytes > m.Bytes && (other.Of == deviceProgram) == (m.Of == deviceProgram) {
		return other
	}
	return m
}

// ownMemory tells whether a backend's device has memory of its own.
func ownMemory(backend string) bool {
	return strings.HasPrefix(backend, "xla:") && !strings.HasPrefix(backend, "xla:cpu")
}

// peakMB is a run's peak memory in MB, NaN where it is unknown: what the process
// took says nothing of a device with memory of its own.
func (r *Record) peakMB() float64 {
	if r.Peak == nil || ownMemory(r.Backend) && r.Peak.Of != deviceProgram {
		return math.NaN()
	}
	return float64(r.Peak.Bytes) / 1e6
}

func megabytes(mb float64) string {
	if math.IsNaN(mb) {
		return "-"
	}
	return fmt.Sprintf("%.0f", mb)
}

// reclaim gives back what nothing holds any more. An array on a device goes only
// with the Go value that stands for it, of whose size the collector knows nothing.
func reclaim() {
	runtime.GC()
	runtime.GC() // while what the first one found is given back
}

// goMemory stands in where the system does not tell the resident set.
func goMemory() Memory {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Memory{int64(m.Sys), goRuntime}
}
