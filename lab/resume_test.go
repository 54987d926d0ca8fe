package lab

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const resumable = "steps=10 width=8 dk=4 dv=4 heads=1 batch=2 warmup=2 eval_rows=8 seeds=1 lengths=1,2 save_every=2 keep=2 "

// outcome is what two equal runs have in common, to the byte.
func outcome(t *testing.T, dir string, steps int) string {
	t.Helper()
	var b bytes.Buffer
	last := fmt.Sprintf("checkpoints/step-%09d/", steps)
	for _, name := range []string{"weights.safetensors", last + "weights.safetensors", last + "state.safetensors"} {
		file, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, name, digest(file))
	}
	metrics, err := ReadMetrics(filepath.Join(dir, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range metrics {
		m.Seconds = 0
		line, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", line)
	}
	r, err := ReadRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	evals, err := json.Marshal(r.Evals)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(&b, r.Status, r.Step, r.Final, string(evals))
	return b.String()
}

// stopAt runs an experiment until the given step is done.
func stopAt(t *testing.T, s *Session, words string, step int) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dir := t.TempDir()
	_, err := s.run(ctx, parse(t, words), 1, dir, func(n int, _ measured, _ float64) {
		if n == step {
			cancel()
		}
	})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("stopped after step %d", step)) {
		t.Fatalf("not stopped: %v", err)
	}
	return dir
}

func uninterrupted(t *testing.T, words string) string {
	t.Helper()
	dir := t.TempDir()
	if _, err := session().run(context.Background(), parse(t, words), 1, dir, nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestResumedEqualsUninterrupted stops at a step boundary with and without a
// checkpoint of its own, and goes on in the same session, whose trainer exists,
// and in a fresh one.
func TestResumedEqualsUninterrupted(t *testing.T) {
	want := outcome(t, uninterrupted(t, resumable), 10)
	for _, step := range []int{4, 5} {
		for name, s := range map[string]*Session{"the same session": session(), "a fresh session": fresh()} {
			dir := stopAt(t, session(), resumable, step)
			r, err := s.Resume(context.Background(), dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := outcome(t, dir, 10); got != want {
				t.Errorf("step %d, %s: got\n%swant\n%s", step, name, got, want)
			}
			if len(r.Resumed) != 1 || r.Resumed[0] != step {
				t.Errorf("resumed after %v, want %d", r.Resumed, step)
			}
		}
	}
}

// TestDamagedCheckpoints breaks the newest pair in several ways: the older one
// is used, a warning names what was skipped, and the result is the same.
func TestDamagedCheckpoints(t *testing.T) {
	want := outcome(t, uninterrupted(t, resumable), 10)
	newest := "checkpoints/step-000000006/"
	for _, c := range []struct {
		name, warning string
		resumed       int
		damage        func(dir string) error
	}{
		{"empty weights", "weights.safetensors: 0 bytes", 4, func(d string) error { return os.WriteFile(d+"/"+newest+"weights.safetensors", nil, 0o644) }},
		{"no state", "state.safetensors: no such file", 4, func(d string) error { return os.Remove(d + "/" + newest + "state.safetensors") }},
		{"short state", "too short for a safetensors file", 4, func(d string) error { return os.Truncate(d+"/"+newest+"state.safetensors", 1000) }},
		{"weights of another step", "weights.safetensors is of step 4", 4, func(d string) error {
			os.Remove(d + "/" + newest + "weights.safetensors")
			return os.Link(d+"/checkpoints/step-000000004/weights.safetensors", d+"/"+newest+"weights.safetensors")
		}},
		{"other weights of the same step", "belongs to other weights", 4, func(d string) error {
			other := stopAt(t, session(), resumable+"lr=0.02", 6)
			os.Remove(d + "/" + newest + "weights.safetensors")
			return os.Rename(other+"/"+newest+"weights.safetensors", d+"/"+newest+"weights.safetensors")
		}},
		{"another configuration", "of another configuration", 4, func(d string) error {
			other := stopAt(t, session(), resumable+"lr=0.02", 6)
			os.RemoveAll(d + "/" + newest)
			return os.Rename(other+"/"+newest, d+"/"+newest)
		}},
		{"lost metrics", "metrics.jsonl ends at step 5", 4, func(d string) error {
			b, err := os.ReadFile(d + "/metrics.jsonl")
			if err != nil {
				return err
			}
			return os.WriteFile(d+"/metrics.jsonl", b[:len(b)-3], 0o644)
		}},
		{"both gone", "no checkpoint: it begins again", 0, func(d string) error { return os.RemoveAll(d + "/checkpoints") }},
	} {
		dir := stopAt(t, session(), resumable, 6)
		if err := c.damage(dir); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		s := session()
		s.Err.(*bytes.Buffer).Reset()
		r, err := s.Resume(context.Background(), dir, nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if said := s.Err.(*bytes.Buffer).String(); !strings.Contains(said, c.warning) {
			t.Errorf("%s: no warning with %q in:\n%s", c.name, c.warning, said)
		}
		if got := outcome(t, dir, 10); got != want {
			t.Errorf("%s: got\n%swant\n%s", c.name, got, want)
		}
		if last := append([]int{0}, r.Resumed...); last[len(last)-1] != c.resumed {
			t.Errorf("%s: resumed after %v, want %d", c.name, r.Resumed, c.resumed)
		}
	}
}

// TestVictim is no test: another test runs this program to kill it. It trains,
// says each step and waits at step 7.
func TestVictim(t *testing.T) {
	dir := os.Getenv("KALMARZ_TEST_VICTIM")
	if dir == "" {
		t.Skip("runs in a process of its own")
	}
	_, err := fresh().run(context.Background(), parse(t, resumable), 1, dir, func(step int, _ measured, _ float64) {
		fmt.Println("step", step)
		if step == 7 {
			select {}
		}
	})
	t.Fatal(err)
}

func TestKilledRunIsResumed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	child := exec.Command(os.Args[0], "-test.run=^TestVictim$")
	child.Env = append(os.Environ(), "KALMARZ_TEST_VICTIM="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "step 7"; {
	}
	_, err = session().Resume(context.Background(), dir, nil)
	if want := fmt.Sprintf("is in use by process %d", child.Process.Pid); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a run that another process has: error %v, want %s", err, want)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	child.Wait()
	if r := readRecord(t, dir); r.Status != Running || locked(dir) {
		t.Errorf("after the kill: status %s, locked %v", r.Status, locked(dir))
	}
	if err := appendTo(filepath.Join(dir, "metrics.jsonl"), `{"step":8,"lo`); err != nil {
		t.Fatal(err)
	}
	r, err := session().Resume(context.Background(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Resumed) != 1 || r.Resumed[0] != 6 {
		t.Errorf("resumed after %v, want 6", r.Resumed)
	}
	if got, want := outcome(t, dir, 10), outcome(t, uninterrupted(t, resumable), 10); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	assertNoTemporaryFiles(t, dir)
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	f.WriteString(text)
	return f.Close()
}
