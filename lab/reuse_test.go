package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// crossed is the ablation of the words after ablate.
func crossed(t *testing.T, words string, rates []string, axisWords ...string) *Ablation {
	t.Helper()
	axes, err := readAxes(axisWords)
	if err != nil {
		t.Fatal(err)
	}
	a, err := NewAblation(parse(t, words), rates, axes...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func ablation(t *testing.T, words string, values ...string) *Ablation {
	t.Helper()
	return crossed(t, words, nil, append([]string{"eta"}, values...)...)
}

func finish(t *testing.T, a *Ablation, s *Session, out string) {
	t.Helper()
	if err := a.Run(context.Background(), s, out); err != nil {
		t.Fatal(err)
	}
}

// runFiles are the digests of all runs' files.
func runFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(path, "seed-") {
			var b []byte
			b, err = os.ReadFile(path)
			out[path] = digest(b)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return out
}

// TestAblationRunsWhatIsMissing: complete runs keep their bytes, one that was
// lost and one that is not this very run are run again.
func TestAblationRunsWhatIsMissing(t *testing.T) {
	s, out := session(), t.TempDir()
	words := strings.Replace(resumable, "seeds=1", "seeds=2", 1)
	first := ablation(t, words, "0.5", "1")
	finish(t, first, s, out)
	if first.Kept != 0 {
		t.Errorf("%d runs kept of an empty folder", first.Kept)
	}
	before := runFiles(t, first.Dir)

	second := ablation(t, words, "0.5", "1")
	finish(t, second, s, out)
	if second.Kept != 4 || !strings.Contains(second.text(), "4 of 4 runs were there already") {
		t.Errorf("%d runs kept, want 4:\n%s", second.Kept, second.text())
	}
	if after := runFiles(t, first.Dir); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Error("kept runs changed")
	}

	check := func(name string, e *Experiment, seed uint64, dir string) {
		t.Helper()
		r, ran, err := second.take(context.Background(), s, planned{e: e, seed: seed, dir: dir}, "", watcher{})
		if err != nil || !ran || r.Status != Finished || r.Program != program() {
			t.Errorf("%s: ran %v, record %+v, error %v", name, ran, r, err)
		}
	}
	for name, change := range map[string]func(*Record){
		"another program": func(r *Record) { r.Program = "revision 0" },
		"an old record":   func(r *Record) { r.Program, r.DataHash = "", "" },
		"other data":      func(r *Record) { r.DataHash = "0" },
		"a failed run":    func(r *Record) { r.Status = Failed },
		"another backend": func(r *Record) { r.Backend = "xla:cuda (asked for)" },
	} {
		dir := first.cellDir(1, 2)
		r := readRecord(t, dir)
		change(r)
		if err := writeJSON(filepath.Join(dir, "run.json"), r); err != nil {
			t.Fatal(err)
		}
		check(name, first.Cells[1], 2, dir)
	}
	if err := os.Remove(filepath.Join(first.cellDir(0, 1), "weights.safetensors")); err != nil {
		t.Fatal(err)
	}
	check("lost weights", first.Cells[0], 1, first.cellDir(0, 1))
	check("a lost run", first.Cells[0], 1, filepath.Join(out, "elsewhere"))
	second.Again = true
	check("asked for again", first.Cells[0], 1, first.cellDir(0, 1))
}

func TestSecondProcessIsRefused(t *testing.T) {
	out := t.TempDir()
	a := ablation(t, resumable, "0.5", "1")
	dir := filepath.Join(out, a.name())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	unlock, err := lockFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%s is in use by process %d", dir, os.Getpid())
	if err := a.Run(context.Background(), session(), out); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if !locked(dir) {
		t.Error("the folder does not count as locked")
	}
	if err := unlock(); err != nil || locked(dir) {
		t.Errorf("after unlock: %v, locked %v", err, locked(dir))
	}
	// A lock file that a dead process left does not block.
	if err := os.WriteFile(filepath.Join(dir, ".lock"), []byte("1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if unlock, err = lockFolder(dir); err != nil {
		t.Fatal(err)
	}
	unlock()
}

const killed = "steps=30 width=8 dk=4 dv=4 heads=1 batch=2 warmup=2 eval_rows=8 seeds=2 lengths=1,2 save_every=1 keep=2 "

// TestAblationVictim is no test: another test runs this program to kill it.
func TestAblationVictim(t *testing.T) {
	out := os.Getenv("KALMARZ_TEST_ABLATION_VICTIM")
	if out == "" {
		t.Skip("runs in a process of its own")
	}
	fmt.Println("begun")
	finish(t, ablation(t, killed, "0.5", "1"), fresh(), out)
}

// TestAblationSurvivesKills kills an ablation at moments from a fixed seed and
// starts it again each time. In the end every run is there, as it would be
// without the kills, and no byte of one that was complete has changed.
func TestAblationSurvivesKills(t *testing.T) {
	if strings.HasPrefix(os.Getenv("GOMLX_BACKEND"), "xla") {
		t.Skip("a process that is killed within seconds would never get through compiling")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	out := t.TempDir()
	a := ablation(t, killed, "0.5", "1")
	a.Dir = filepath.Join(out, a.name())
	complete := map[string]string{}
	check := func() {
		for cell := range a.Cells {
			for seed := 1; seed <= 2; seed++ {
				run := a.cellDir(cell, seed)
				for path, sum := range runFiles(t, run) {
					if old, ok := complete[path]; ok && old != sum && !strings.HasSuffix(path, ".lock") {
						t.Errorf("%s changed after its run was complete", path)
					}
				}
				if r, err := ReadRecord(run); err == nil && r.complete() {
					for path, sum := range runFiles(t, run) {
						complete[path] = sum
					}
				}
			}
		}
	}
	kills := 0
	for done := false; !done; {
		if kills == 30 {
			t.Fatal("not complete after 30 kills")
		}
		child := exec.Command(os.Args[0], "-test.run=^TestAblationVictim$")
		child.Env = append(os.Environ(), "KALMARZ_TEST_ABLATION_VICTIM="+out)
		said, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(said)
		for lines.Scan() && lines.Text() != "begun" {
		}
		ended := make(chan error, 1)
		go func() {
			for lines.Scan() {
			}
			ended <- child.Wait()
		}()
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			done = true
		case <-time.After(time.Duration(rng.IntN(400)+100<<min(kills/2, 8)) * time.Millisecond):
			child.Process.Kill()
			<-ended
			kills++
		}
		check()
	}
	plain := ablation(t, killed, "0.5", "1")
	finish(t, plain, session(), t.TempDir())
	for cell := range a.Cells {
		for seed := 1; seed <= 2; seed++ {
			got := outcome(t, a.cellDir(cell, seed), 30)
			if want := outcome(t, plain.cellDir(cell, seed), 30); got != want {
				t.Errorf("cell %d, seed %d: got\n%swant\n%s", cell, seed, got, want)
			}
		}
	}
	t.Logf("%d kills", kills)
}
