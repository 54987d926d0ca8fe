package lab

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/kalmarz/kalmarz/lab/backend"
)

// place is where a worker computes: its share of the machine, as variables of
// its environment.
type place struct{ env []string }

// workPlaces divides the machine among at most jobs processes: one for each
// NVIDIA device that this process may use, or else the cores, so that threads
// times processes are not more than there are. Auto is one process a core, or
// as many as there are runs.
func (s *Session) workPlaces(jobs, runs int) ([]place, error) {
	choice, err := backend.Choose(s.Backend)
	if err != nil {
		return nil, err
	}
	cores := runtime.GOMAXPROCS(0)
	most := cores
	var devices []string
	if choice.Platform == "xla:cuda" {
		devices = backend.VisibleDevices()
		most = len(devices)
		if jobs > most {
			return nil, fmt.Errorf("jobs = %d: must be at most %d, one for each NVIDIA device that is visible", jobs, most)
		}
	}
	if jobs == Auto {
		jobs = most
	}
	jobs = max(1, min(jobs, runs))
	threads := strconv.Itoa(max(1, cores/jobs))
	var out []place
	for i := range jobs {
		p := place{[]string{"GOMAXPROCS=" + threads, "NPROC=" + threads}} // Go's threads, and XLA's
		if devices != nil {
			p.env = append(p.env, "CUDA_VISIBLE_DEVICES="+devices[i])
		}
		out = append(out, p)
	}
	return out, nil
}

// roomy tells whether the machine has memory for another worker: twice what the
// largest has taken so far, beyond what the others may still take. It waits for
// the first to train, which shows what a run takes. Where the system does not
// tell there is always room.
func (c *crew) roomy() bool {
	if len(c.members) == 0 {
		return true
	}
	free, ok := availableMemory()
	if !ok {
		return true
	}
	trained, promised := c.peak > 0, uint64(0)
	var now []uint64
	for _, m := range c.members {
		trained = trained || m.steps
		current, peak := processMemory(m.cmd.Process.Pid)
		now, c.measured = append(now, current), max(c.measured, peak)
	}
	if !trained {
		return false
	}
	c.peak = c.measured
	for _, n := range now {
		promised += c.peak - min(n, c.peak)
	}
	return free > promised+2*c.peak
}

// availableMemory is how many bytes programs can still take, by the system's and
// the container's account; false where that is not told.
func availableMemory() (uint64, bool) {
	free, ok := procField("/proc/meminfo", "MemAvailable")
	if !ok {
		return 0, false
	}
	limit, ok := number("/sys/fs/cgroup/memory.max")
	used, known := number("/sys/fs/cgroup/memory.current")
	if ok && known {
		free = min(free, limit-min(used, limit))
	}
	return free, true
}

// processMemory is what a process has in memory, and the most it had, in bytes.
func processMemory(pid int) (now, peak uint64) {
	path := filepath.Join("/proc", strconv.Itoa(pid), "status")
	now, _ = procField(path, "VmRSS") // 0 if it has ended
	peak, _ = procField(path, "VmHWM")
	return now, peak
}

// procField reads a line "name: 123 kB".
func procField(path, name string) (bytesOf uint64, ok bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(b) {
		key, value, _ := strings.Cut(string(line), ":")
		if fields := strings.Fields(value); key == name && len(fields) == 2 {
			n, err := strconv.ParseUint(fields[0], 10, 64)
			return n << 10, err == nil
		}
	}
	return 0, false
}

func number(path string) (uint64, bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64) // "max" is no limit
	return n, err == nil
}
