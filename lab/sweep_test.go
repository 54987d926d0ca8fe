package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// processes makes this test's workers the program.
func processes(t *testing.T, a *Ablation, jobs int) {
	t.Helper()
	t.Setenv(asProgram, "1")
	a.Jobs = jobs
}

// timeless is an ablation's table without what a clock measured.
func timeless(a *Ablation) string {
	for _, r := range slices.Concat(a.Runs...) {
		r.TokensPerS, r.Peak = 1, nil
	}
	return a.text()
}

// TestSweepEqualsAblate: several processes leave the same runs as one, to the
// byte, and the same report.
func TestSweepEqualsAblate(t *testing.T) {
	words := strings.Replace(resumable, "seeds=1", "seeds=2", 1)
	one, many := ablation(t, words, "learned", "0.5", "1"), ablation(t, words, "learned", "0.5", "1")
	finish(t, one, session(), t.TempDir())
	processes(t, many, 2)
	s := fresh()
	finish(t, many, s, t.TempDir())
	for _, p := range one.plan() {
		if got, want := outcome(t, many.cellDir(p.cell, int(p.seed)), 10), outcome(t, p.dir, 10); got != want {
			t.Errorf("%s: got\n%swant\n%s", p.name, got, want)
		}
	}
	said := s.Err.(*bytes.Buffer).String()
	if strings.Count(said, "backend ") != 1 || strings.Count(said, "  loss ") != 6 || strings.Contains(said, "\x1b") {
		t.Errorf("the sweep said:\n%s", said)
	}
	if s.be != nil {
		t.Error("the sweep itself opened the backend")
	}
	if got, want := timeless(many), timeless(one); got != want {
		t.Errorf("the table is\n%s, and of one process\n%s", got, want)
	}
	for _, name := range []string{"accuracy.csv", "accuracy.svg", "training.csv", "training.svg"} {
		a, err := os.ReadFile(filepath.Join(one.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(many.Dir, name))
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs from that of one process (%v)", name, err)
		}
	}
	again := ablation(t, words, "learned", "0.5", "1")
	again.Jobs = 2
	before := runFiles(t, many.Dir)
	finish(t, again, fresh(), filepath.Dir(many.Dir))
	if after := runFiles(t, many.Dir); again.Kept != 6 || fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("%d runs kept, want 6 and none changed", again.Kept)
	}
}

// TestTwoAblationsShareAFolder: each run is executed once, and both report all.
func TestTwoAblationsShareAFolder(t *testing.T) {
	words, out := strings.Replace(resumable, "seeds=1", "seeds=3", 1), t.TempDir()
	var both [2]*Ablation
	var errs [2]error
	var wg sync.WaitGroup
	for i := range both {
		both[i] = ablation(t, words, "0.5", "1")
		wg.Go(func() { errs[i] = both[i].Run(context.Background(), fresh(), out) })
	}
	wg.Wait()
	for i, a := range both {
		if errs[i] != nil || len(a.Unfinished()) > 0 {
			t.Errorf("ablation %d: %v, unfinished %v", i, errs[i], a.Unfinished())
		}
	}
	if n := both[0].Kept + both[1].Kept; n != 6 {
		t.Errorf("%d runs found done, want 6: 12 turns at 6 runs", n)
	}
	for _, p := range both[0].plan() {
		if r := readRecord(t, p.dir); len(r.Resumed) > 0 {
			t.Errorf("%s was resumed after %v", p.name, r.Resumed)
		}
	}
}

// TestWaitingForAnotherProcess: a run that somebody has is waited for, and taken
// if it is left unfinished.
func TestWaitingForAnotherProcess(t *testing.T) {
	for name, a := range map[string]*Ablation{"one process": ablation(t, resumable, "0.5", "1"), "workers": ablation(t, resumable, "0.5", "1")} {
		t.Run(name, func(t *testing.T) {
			if name == "workers" {
				processes(t, a, 2)
			}
			out, s := t.TempDir(), fresh()
			run := filepath.Join(out, a.name(), "1", "seed-1")
			if err := os.MkdirAll(run, 0o755); err != nil {
				t.Fatal(err)
			}
			unlock, err := lockFolder(run)
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- a.Run(context.Background(), s, out) }()
			other := filepath.Join(out, a.name(), "0.5", "seed-1")
			for limit := time.Now().Add(20 * time.Second); time.Now().Before(limit); time.Sleep(10 * time.Millisecond) {
				if r, err := ReadRecord(other); err == nil && r.complete() {
					break
				}
			}
			select {
			case err := <-ended:
				t.Fatalf("not waited: %v", err)
			case <-time.After(300 * time.Millisecond):
			}
			if err := unlock(); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err != nil || len(a.Unfinished()) > 0 || a.Kept != 0 {
				t.Errorf("%v, unfinished %v, kept %d", err, a.Unfinished(), a.Kept)
			}
			if said := s.Err.(*bytes.Buffer).String(); !strings.Contains(said, "waiting for 1 runs") {
				t.Errorf("it said:\n%s", said)
			}
		})
	}
}

// TestWork: a host that shares the folder takes what is missing, keeps what a
// host of another kind has run, and reports if it was the last.
func TestWork(t *testing.T) {
	words := strings.Replace(resumable, "seeds=1", "seeds=2", 1)
	a := ablation(t, words, "0.5", "1")
	finish(t, a, session(), t.TempDir())
	plan := a.plan()
	for _, p := range plan[:2] {
		r := readRecord(t, p.dir)
		r.Device = "another processor"
		if err := writeJSON(filepath.Join(p.dir, "run.json"), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.RemoveAll(plan[2].dir), os.Remove(filepath.Join(a.Dir, "table.md"))); err != nil {
		t.Fatal(err)
	}
	before := runFiles(t, a.Dir)
	unlock, err := lockFolder(plan[3].dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(plan[3].dir, "run.json"), filepath.Join(plan[3].dir, "away")); err != nil {
		t.Fatal(err)
	}
	if text, err := say(t, "work", a.Dir); err != nil || !strings.Contains(text, "3 of 4 runs are complete; nothing else is left to take") {
		t.Errorf("%v: %s", err, text)
	}
	if err := errors.Join(os.Rename(filepath.Join(plan[3].dir, "away"), filepath.Join(plan[3].dir, "run.json")), unlock()); err != nil {
		t.Fatal(err)
	}
	if text, err := say(t, "work", a.Dir); err != nil || !strings.Contains(text, "FLOPs/token") || strings.Contains(text, "there already") {
		t.Errorf("%v: %s", err, text)
	}
	if _, err := os.Stat(filepath.Join(a.Dir, "table.md")); err != nil {
		t.Error(err)
	}
	after := runFiles(t, a.Dir)
	for path, sum := range before {
		if after[path] != sum && !strings.HasSuffix(path, ".lock") {
			t.Errorf("%s changed", path)
		}
	}
	if r := readRecord(t, plan[2].dir); r.Status != Finished {
		t.Errorf("the missing run is %s", r.Status)
	}
	for words, want := range map[string]string{"": "expected one ablation", "a b": "expected one ablation", "nix": "no ablation nix", "nix --agian": "unknown flag --agian (did you mean again?)"} {
		if _, err := say(t, "work", strings.Fields(words)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("work %s: error %v, want %s", words, err, want)
		}
	}
}

// TestAblationOfMixersIsRead: cells whose mixers have other options than the
// baseline's are built from what is in the folder.
func TestAblationOfMixersIsRead(t *testing.T) {
	a := crossed(t, resumable, nil, "mixer", "kaczmarz", "linear")
	finish(t, a, session(), t.TempDir())
	b, err := ReadAblation(a.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if b.name() != a.name() || len(b.Unfinished()) > 0 {
		t.Errorf("read as %s with %v unfinished", b.name(), b.Unfinished())
	}
}

// TestCheckpointsByTheClock: with save_every=0 a killed run loses little, and a
// run that ended is the same with and without such checkpoints.
func TestCheckpointsByTheClock(t *testing.T) {
	words := strings.Replace(resumable, "save_every=2 keep=2", "save_every=0 keep=3", 1)
	want := outcome(t, uninterrupted(t, words), 10)
	often := fresh()
	often.saveAfter = 0
	dir := t.TempDir()
	saved := map[int]bool{}
	if _, err := often.run(context.Background(), parse(t, words), 1, dir, func(int, measured, float64) {
		steps, err := savedSteps(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range steps {
			saved[n] = true
		}
	}); err != nil {
		t.Fatal(err)
	}
	if len(saved) != 10 {
		t.Errorf("checkpoints of %d steps, want 10", len(saved))
	}
	if got := outcome(t, dir, 10); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if steps, err := savedSteps(dir); err != nil || len(steps) != 1 {
		t.Errorf("checkpoints of %v are left (%v), want that of the last step", steps, err)
	}
	e := parse(t, words)
	e.Task = poisoned{e.Task, 5}
	dir = t.TempDir()
	if r, err := often.run(context.Background(), e, 1, dir, nil); err != nil || r.Status != Diverged {
		t.Fatalf("%+v, %v", r, err)
	}
	if steps, err := savedSteps(dir); err != nil || len(steps) != 0 {
		t.Errorf("a run that diverged left checkpoints of %v (%v)", steps, err)
	}
}
