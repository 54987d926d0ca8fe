//go:build unix

package lab

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// sweepProcess is a sweep in a process group of its own, and what it says.
type sweepProcess struct {
	cmd   *exec.Cmd
	mu    sync.Mutex
	said  bytes.Buffer
	ended chan struct{}
}

func (s *sweepProcess) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.Write(b)
}

func (s *sweepProcess) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.String()
}

func startSweep(t *testing.T, args ...string) *sweepProcess {
	t.Helper()
	s := &sweepProcess{cmd: testProgram(t, args...), ended: make(chan struct{})}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.cmd.Stderr = s
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.kill(); <-s.ended })
	go func() { s.cmd.Wait(); close(s.ended) }()
	return s
}

// kill ends the sweep and all its workers, as kill -9 of the group does.
func (s *sweepProcess) kill() { syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) }

func (s *sweepProcess) hasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// within waits for a condition while the sweep lives.
func (s *sweepProcess) within(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s; the sweep said:\n%s", limit, what, s.text())
		}
	}
}

// stepsIn counts the steps that a run's metrics have.
func stepsIn(run string) int {
	b, _ := os.ReadFile(filepath.Join(run, "metrics.jsonl")) // none yet
	return bytes.Count(b, []byte("\n"))
}

// workersOf are the processes that train a run of an ablation, by the run's folder.
func workersOf(a *Ablation) map[string]int {
	out := map[string]int{}
	for _, p := range a.plan() {
		if r, err := ReadRecord(p.dir); err == nil && r.Status == Running && stepsIn(p.dir) > 0 && locked(p.dir) {
			out[p.dir], _ = strconv.Atoi(readOwner(p.dir).process)
		}
	}
	return out
}

func hasExited(pid int) bool { return syscall.Kill(pid, 0) != nil }

// sweepWords are eight cells that share their graphs.
func sweepWords(t *testing.T, steps int, out string) ([]string, *Ablation) {
	t.Helper()
	if strings.HasPrefix(os.Getenv("GOMLX_BACKEND"), "xla") {
		t.Skip("a process that is killed within seconds would never get through compiling")
	}
	words := fmt.Sprintf("steps=%d width=8 dk=4 dv=4 heads=1 batch=2 warmup=2 eval_rows=8 seeds=1 lengths=1,2 save_every=1 keep=2", steps)
	values := strings.Fields("0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8")
	a := ablation(t, words, values...)
	a.Dir = filepath.Join(out, a.name())
	args := slices.Concat([]string{"sweep", "eta"}, values, strings.Fields(words), []string{"jobs=2", "backend=go", "out=" + out})
	return args, a
}

// TestSweepSurvivesKills kills a sweep of eight cells at moments from a fixed
// seed, and starts it again each time: in turn the whole group, one worker and
// then the group, and the sweep itself, whose workers then stop by themselves.
// Every cell is completed once, and no byte of a complete run changes.
// KALMARZ_TEST_KILLS sets the number of kills.
func TestSweepSurvivesKills(t *testing.T) {
	kills := 6
	if n, err := strconv.Atoi(os.Getenv("KALMARZ_TEST_KILLS")); err == nil {
		kills = n
	}
	out := t.TempDir()
	steps := 5 * kills
	args, a := sweepWords(t, steps, out)
	taken := func() (n int) {
		for _, p := range a.plan() {
			n += stepsIn(p.dir)
		}
		return n
	}
	rng := rand.New(rand.NewPCG(8, 30))
	complete := map[string]string{} // file -> digest and time, once its run was complete
	completions := map[string]int{}
	finished := regexp.MustCompile(`(?m)^\[\d+/8\] (eta = [0-9.]+, seed 1)  loss `)
	check := func(s *sweepProcess, before []string) (whole []string) {
		t.Helper()
		for _, m := range finished.FindAllStringSubmatch(s.text(), -1) {
			if !slices.Contains(before, m[1]) { // one that was there is named too
				completions[m[1]]++
			}
		}
		for _, p := range a.plan() {
			r, err := ReadRecord(p.dir)
			is := err == nil && r.complete()
			for path, sum := range runFiles(t, p.dir) {
				st, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				sum += st.ModTime().String()
				if old, ok := complete[path]; ok && old != sum {
					t.Errorf("%s changed after its run was complete", path)
				}
				if is {
					complete[path] = sum
				}
			}
			if is {
				whole = append(whole, p.name)
			}
		}
		return whole
	}
	var whole []string
	midway := 0 // kills while runs were under way
	for i := range kills {
		s := startSweep(t, args...)
		target := taken() + 1 + rng.IntN(2*8*steps/(kills+2))
		s.within(t, 60*time.Second, "it takes its steps", func() bool { return taken() >= target || s.hasEnded() })
		time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
		workers := workersOf(a)
		if len(workers) > 0 {
			midway++
		}
		switch i % 3 {
		case 0:
			s.kill()
		case 1:
			for _, pid := range workers {
				syscall.Kill(pid, syscall.SIGKILL)
				break
			}
			time.Sleep(time.Duration(rng.IntN(50)) * time.Millisecond)
			s.kill()
		case 2:
			s.cmd.Process.Kill()
			s.within(t, 20*time.Second, "its workers stop", func() bool { return len(workersOf(a)) == 0 })
		}
		<-s.ended
		whole = check(s, whole)
	}
	if midway < kills/2 {
		t.Errorf("only %d of %d kills came while a run was under way", midway, kills)
	}
	s := startSweep(t, args...)
	<-s.ended
	if whole = check(s, whole); len(whole) != 8 || s.cmd.ProcessState.ExitCode() != 0 {
		t.Fatalf("complete are %v; status %d:\n%s", whole, s.cmd.ProcessState.ExitCode(), s.text())
	}
	for name, n := range completions {
		if n > 1 {
			t.Errorf("%s was completed %d times", name, n)
		}
	}
	plain := ablation(t, strings.Join(pairs(a.Base.Complete()), " "), a.Axes[0].Values...)
	finish(t, plain, session(), t.TempDir())
	resumed := 0
	for _, p := range a.plan() {
		if got, want := outcome(t, p.dir, steps), outcome(t, plain.cellDir(p.cell, int(p.seed)), steps); got != want {
			t.Errorf("%s: got\n%swant\n%s", p.name, got, want)
		}
		resumed += len(readRecord(t, p.dir).Resumed)
	}
	t.Logf("%d kills, %d of them midway; runs were resumed %d times; the sweep named %d completions before its own end", kills, midway, resumed, len(completions))
}

// TestKilledWorker: its run fails with the reason, the others go on, the table
// shows it and the status is not 0; the next sweep goes on with it.
func TestKilledWorker(t *testing.T) {
	out := t.TempDir()
	args, a := sweepWords(t, 20, out)
	s := startSweep(t, args...)
	var stdout bytes.Buffer
	victim := ""
	s.within(t, 20*time.Second, "a run has a checkpoint", func() bool {
		for dir, pid := range workersOf(a) {
			if steps, _ := savedSteps(dir); len(steps) > 0 && syscall.Kill(pid, syscall.SIGKILL) == nil {
				victim = dir
				break
			}
		}
		return victim != ""
	})
	<-s.ended
	if status := s.cmd.ProcessState.ExitCode(); status != 1 {
		t.Errorf("status %d, want 1", status)
	}
	want := "its process was ended by signal 9 (killed)"
	if r := readRecord(t, victim); r.Status != Failed || !strings.HasPrefix(r.Reason, want) || r.Step == 0 {
		t.Errorf("the run's record: %s after step %d: %s", r.Status, r.Step, r.Reason)
	}
	if err := a.read(); err != nil {
		t.Fatal(err)
	}
	if left := a.Unfinished(); len(left) != 1 || !strings.Contains(left[0], want) {
		t.Errorf("unfinished: %v", left)
	}
	if text := s.text(); strings.Count(text, want) < 2 || !strings.Contains(text, "1 of 8 runs failed") {
		t.Errorf("it said:\n%s", text)
	}
	table, err := os.ReadFile(filepath.Join(a.Dir, "table.md"))
	if err != nil || !strings.Contains(string(table), "| failed | failed | 0 | 1 (seed 1 failed) |") || strings.Contains(string(table), "NaN") {
		t.Errorf("%v:\n%s", err, table)
	}
	c := testProgram(t, args...)
	c.Stdout = &stdout
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	if r := readRecord(t, victim); r.Status != Finished || len(r.Resumed) != 1 || !strings.Contains(stdout.String(), "7 of 8 runs were there already") {
		t.Errorf("afterwards: %s, resumed %v:\n%s", r.Status, r.Resumed, stdout.String())
	}
}

// twoWorkers waits until two processes train.
func twoWorkers(t *testing.T, a *Ablation) map[string]int {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		if w := workersOf(a); len(w) == 2 {
			return w
		}
	}
	t.Fatal("no two workers")
	return nil
}

// TestInterruptOfASweep: the first Ctrl-C stops the workers at a step's end, the
// second kills them.
func TestInterruptOfASweep(t *testing.T) {
	out := t.TempDir()
	args, a := sweepWords(t, 1_000_000, out)
	s := onTerminal(t, args...).expect("2 running")
	workers := twoWorkers(t, a)
	s.send(ctrlC).expect("stopping at the end of this step").expect("stopped; what was recorded is in")
	s.exits(interruptStatus)
	for dir, pid := range workers {
		if r := readRecord(t, dir); r.Status != Stopped || r.Step == 0 || !hasExited(pid) {
			t.Errorf("%s is %s after step %d; its process is gone: %v", dir, r.Status, r.Step, hasExited(pid))
		}
		if steps, err := savedSteps(dir); err != nil || len(steps) == 0 || steps[0] != readRecord(t, dir).Step {
			t.Errorf("checkpoints of %v, %v", steps, err)
		}
	}
	counts, err := say(t, "sweep", "status", a.Dir)
	if err != nil || !strings.Contains(counts, "8 runs: 0 finished, 0 diverged, 0 running, 0 stale, 2 stopped, 0 failed, 6 missing") {
		t.Errorf("%v\n%s", err, counts)
	}

	s = onTerminal(t, args...).expect("2 running")
	pids := []int{}
	for _, pid := range twoWorkers(t, a) {
		syscall.Kill(pid, syscall.SIGSTOP) // so that it does not stop at the first
		pids = append(pids, pid)
	}
	s.send(ctrlC).expect("stopping").send(ctrlC)
	s.exits(interruptStatus)
	for _, pid := range pids {
		for limit := time.Now().Add(5 * time.Second); !hasExited(pid); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatalf("worker %d lives on", pid)
			}
		}
	}
	if counts, _ := say(t, "sweep", "status", a.Dir); !strings.Contains(counts, "stale eta = ") {
		t.Errorf("status of a sweep that was killed:\n%s", counts)
	}
}

// TestRunsAreNotTakenTwice: what a process of a sweep had, whatever became of
// it, no other of that sweep takes; another sweep does.
func TestRunsAreNotTakenTwice(t *testing.T) {
	a := ablation(t, resumable, "0.5")
	finish(t, a, session(), t.TempDir())
	p := a.plan()[0]
	r := readRecord(t, p.dir)
	r.Status = Failed
	if err := writeJSON(filepath.Join(p.dir, "run.json"), r); err != nil {
		t.Fatal(err)
	}
	unlock, err := claim(p.dir, "sweep-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	for _, sweep := range []string{"sweep-1", "sweep-2"} {
		taken := 0
		err := a.takeAll(context.Background(), session(), turns{sweep: sweep}, watcher{
			end: func(planned, *Record, error) {}, kept: func(planned, *Record) {}, taken: func(planned) { taken++ },
		})
		if want := map[string]int{"sweep-1": 1}[sweep]; err != nil || taken != want {
			t.Errorf("%s: taken %d, want %d (%v)", sweep, taken, want, err)
		}
	}
	if r := readRecord(t, p.dir); r.Status != Finished {
		t.Errorf("the run is %s", r.Status)
	}
}
