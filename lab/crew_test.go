package lab

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestWorkPlaces: threads times processes are not more than the cores.
func TestWorkPlaces(t *testing.T) {
	s := NewSession(&bytes.Buffer{}, &bytes.Buffer{})
	s.Backend = "go"
	cores := runtime.GOMAXPROCS(0)
	for _, c := range []struct{ jobs, runs, want int }{
		{Auto, 1000, cores}, {Auto, 1, 1}, {1, 8, 1}, {3, 2, 2}, {cores + 5, 1000, cores + 5},
	} {
		places, err := s.workPlaces(c.jobs, c.runs)
		if err != nil || len(places) != c.want {
			t.Errorf("jobs %d, %d runs: %d places, want %d (%v)", c.jobs, c.runs, len(places), c.want, err)
			continue
		}
		threads := "GOMAXPROCS=" + strconv.Itoa(max(1, cores/c.want))
		for _, p := range places {
			if !slices.Contains(p.env, threads) || strings.Contains(strings.Join(p.env, " "), "CUDA") {
				t.Errorf("jobs %d, %d runs: %v, want %s", c.jobs, c.runs, p.env, threads)
			}
		}
	}
	s.Backend = "tpu"
	if _, err := s.workPlaces(1, 1); err == nil || !strings.Contains(err.Error(), "unknown backend") {
		t.Errorf("error %v", err)
	}
}

// TestMemory: this process is seen to use memory, and not more than there is.
func TestMemory(t *testing.T) {
	free, ok := availableMemory()
	if _, err := os.Stat("/proc/meminfo"); err != nil {
		if ok {
			t.Error("memory is known without /proc/meminfo")
		}
		t.Skip("this system does not tell")
	}
	now, peak := processMemory(os.Getpid())
	if !ok || free < 1<<20 || now < 1<<20 || peak < now {
		t.Errorf("free %d (%v), this process %d, at most %d", free, ok, now, peak)
	}
	if now, peak := processMemory(-1); now != 0 || peak != 0 {
		t.Errorf("a process that is not there has %d, at most %d", now, peak)
	}
}

// TestRoomForWorkers: a sweep that was given no number of processes begins with
// one, and adds others when that has trained and memory is free.
func TestRoomForWorkers(t *testing.T) {
	if _, ok := availableMemory(); !ok {
		t.Skip("this system does not tell")
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	c := &crew{}
	if !c.roomy() {
		t.Error("no room for the first")
	}
	m := &member{}
	m.cmd = testProgram(t)
	m.cmd.Process = self
	c.members = []*member{m}
	if c.roomy() {
		t.Error("room for a second before the first has trained")
	}
	m.steps = true
	if !c.roomy() {
		t.Error("no room for a second worker like this test")
	}
	c.measured = 1 << 60
	if c.roomy() {
		t.Error("room for a second worker of 2^60 bytes")
	}
}

// TestWorkersThatCannotBegin: one line says why, as without workers.
func TestWorkersThatCannotBegin(t *testing.T) {
	a := ablation(t, resumable, "0.5", "1")
	processes(t, a, 2)
	s := fresh()
	s.Backend = "go:nonsense=1"
	err := a.Run(context.Background(), s, t.TempDir())
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "nonsense") || strings.Contains(err.Error(), "status") {
		t.Errorf("error %v", err)
	}
}

// TestSharedFolderIsNotRemoved: nobody removes an ablation that a process is at,
// and a run that a worker has is refused to train and resume.
func TestSharedFolderIsNotRemoved(t *testing.T) {
	onPureGo(t)
	out := t.TempDir()
	a := ablation(t, resumable, "0.5")
	finish(t, a, session(), out)
	unlock, err := shareFolder(a.Dir)
	if err != nil {
		t.Fatal(err)
	}
	another, err := shareFolder(a.Dir)
	if err != nil {
		t.Fatalf("it cannot be shared: %v", err)
	}
	if _, err := say(t, "rm", a.Dir, "--yes"); !errors.Is(err, errInUse) {
		t.Errorf("rm: %v", err)
	}
	if err := errors.Join(unlock(), another()); err != nil {
		t.Fatal(err)
	}
	p := a.plan()[0]
	unlock, err = claim(p.dir, "some sweep")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session().run(context.Background(), p.e, p.seed, p.dir, nil); !errors.Is(err, errInUse) {
		t.Errorf("a second run in the folder: %v", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if _, err := say(t, "rm", a.Dir, "--yes"); err != nil {
		t.Errorf("rm: %v", err)
	}
	if _, err := os.Stat(filepath.Join(out, a.name())); !os.IsNotExist(err) {
		t.Errorf("the folder is there: %v", err)
	}
}

// TestJobs: the words that say how many processes work.
func TestJobs(t *testing.T) {
	for text, want := range map[string]int{"auto": Auto, "1": 1, "12": 12} {
		if n, err := readJobs(text); err != nil || n != want {
			t.Errorf("jobs=%s: %d, %v", text, n, err)
		}
	}
	for _, text := range []string{"0", "-1", "", "1.5", "2000", "many"} {
		if _, err := readJobs(text); err == nil || !strings.HasPrefix(err.Error(), "jobs = "+text+": must be a whole number") {
			t.Errorf("jobs=%s: error %v", text, err)
		}
	}
	if _, err := say(t, "train", "jobs=2"); err == nil || !strings.Contains(err.Error(), `"jobs"`) {
		t.Errorf("train jobs=2: %v", err)
	}
}
