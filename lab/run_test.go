package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gomlx/compute"

	"github.com/kalmarz/kalmarz/datasets"
)

// tiny is an experiment of a second.
const tiny = "steps=6 width=8 dk=4 dv=4 heads=1 batch=2 warmup=2 eval_rows=8 seeds=2 "

// fresh is a session with nothing compiled, on what GOMLX_BACKEND names or else
// pure Go.
func fresh() *Session {
	s := NewSession(&bytes.Buffer{}, &bytes.Buffer{})
	if os.Getenv("GOMLX_BACKEND") == "" {
		s.Backend = "go"
	}
	return s
}

// session is shared by tests, as its compiled graphs are made to be.
var session = sync.OnceValue(fresh)

func readRecord(t *testing.T, dir string) *Record {
	t.Helper()
	r, err := ReadRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestNumbersSurviveJSON(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1, -2.5e-300} {
		b, err := json.Marshal(Metric{Loss: Number(x)})
		if err != nil {
			t.Fatal(err)
		}
		var m Metric
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		if got := float64(m.Loss); got != x && !(math.IsNaN(got) && math.IsNaN(x)) {
			t.Errorf("%v became %v through %s", x, got, b)
		}
	}
}

// poisoned is a task whose batch of one index gives a loss that is not a number.
type poisoned struct {
	datasets.Task
	index int
}

func (p poisoned) Batch(s datasets.Split, seed uint64, index, rows int) (datasets.Batch, error) {
	b, err := p.Task.Batch(s, seed, index, rows)
	if s == datasets.Train && index == p.index {
		for i := range b.Mask {
			b.Mask[i] = float32(math.NaN())
		}
	}
	return b, err
}

// TestDivergence: the run is recorded with its step, all steps are in the
// metrics, and the newest checkpoint is the last good one.
func TestDivergence(t *testing.T) {
	e := parse(t, tiny+"save_every=1")
	e.Task = poisoned{e.Task, 4}
	dir := t.TempDir()
	r, err := session().run(context.Background(), e, 1, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != Diverged || r.Step != 5 || !strings.Contains(r.Reason, "step 5: loss is NaN") {
		t.Errorf("status %s at step %d: %s", r.Status, r.Step, r.Reason)
	}
	if back := readRecord(t, dir); back.Status != Diverged || back.Step != 5 {
		t.Errorf("run.json says %s at step %d", back.Status, back.Step)
	}
	metrics, err := ReadMetrics(filepath.Join(dir, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if len(metrics) != 5 || !math.IsNaN(float64(metrics[4].Loss)) || math.IsNaN(float64(metrics[3].Loss)) {
		t.Errorf("metrics: %+v", metrics)
	}
	w, step, err := ReadWeights(filepath.Join(dir, "weights.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	if step != 4 {
		t.Errorf("the checkpoint is of step %d, want 4", step)
	}
	for name, values := range w {
		for i, v := range values {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				t.Errorf("%s[%d] = %v", name, i, v)
			}
		}
	}
}

// TestPoisonedWeightsAreNotSaved: the check looks at the weights themselves.
func TestPoisonedWeightsAreNotSaved(t *testing.T) {
	s := session()
	e := parse(t, tiny)
	dir := t.TempDir()
	if _, err := s.run(context.Background(), e, 1, dir, nil); err != nil {
		t.Fatal(err)
	}
	tr, err := s.trainer(e)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "weights.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	e.Task = poisoned{e.Task, 0}
	b, err := e.Task.Batch(datasets.Train, 1, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.train(b, 0.1, 0.1); err != nil {
		t.Fatal(err)
	}
	err = saveWeights(filepath.Join(dir, "weights.safetensors"), tr.set, 7)
	if err == nil || !strings.Contains(err.Error(), "not saved") {
		t.Errorf("saving NaN weights: error %v", err)
	}
	after, err := os.ReadFile(filepath.Join(dir, "weights.safetensors"))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the good checkpoint changed (%v)", err)
	}
	assertNoTemporaryFiles(t, dir)
}

func assertNoTemporaryFiles(t *testing.T, dir string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, ".tmp-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestSameSeedSameBytes: twice the same run, and once more after others have
// used the same compiled graphs, gives the same losses and weights.
func TestSameSeedSameBytes(t *testing.T) {
	s := session()
	run := func(s *Session, words string, seed uint64) (losses []Number, weights []byte) {
		dir := t.TempDir()
		if _, err := s.run(context.Background(), parse(t, tiny+words), seed, dir, nil); err != nil {
			t.Fatal(err)
		}
		metrics, err := ReadMetrics(filepath.Join(dir, "metrics.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range metrics {
			losses = append(losses, m.Loss)
		}
		weights, err = os.ReadFile(filepath.Join(dir, "weights.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	l1, w1 := run(s, "eta=0.5", 1)
	run(s, "eta=1", 1)
	run(s, "eta=0.5", 2)
	for name, other := range map[string]*Session{"the same session": s, "a fresh session": fresh()} {
		l2, w2 := run(other, "eta=0.5", 1)
		if !slices.Equal(l1, l2) || !bytes.Equal(w1, w2) {
			t.Errorf("%s: other losses (%v, %v) or weights", name, l1, l2)
		}
	}
	if l3, _ := run(s, "eta=1", 1); slices.Equal(l1, l3) {
		t.Error("eta = 0.5 and eta = 1 give the same losses: the setting does not reach the graph")
	}
}

func TestAblationEndToEnd(t *testing.T) {
	s := fresh()
	out := t.TempDir()
	a := ablation(t, tiny+"lengths=1,2", "learned", "0.5", "1")
	if err := a.Run(context.Background(), s, out); err != nil {
		t.Fatal(err)
	}
	if n := len(s.trainers); n != 2 {
		t.Errorf("%d compiled models for a learned and two fixed values, want 2", n)
	}
	for _, f := range []string{"table.md", "accuracy.svg", "accuracy.png", "accuracy.pdf", "accuracy.csv", "training.svg", "training.csv", "0.5/seed-2/run.json", "learned/seed-1/metrics.jsonl", "1/seed-1/weights.safetensors"} {
		if st, err := os.Stat(filepath.Join(a.Dir, f)); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}
	r := readRecord(t, filepath.Join(a.Dir, "0.5", "seed-1"))
	if r.Repeatable != (s.choice.Platform == "go") {
		t.Errorf("repeatable %v on %s", r.Repeatable, s.choice.Platform)
	}
	if r.Status != Finished || len(r.Evals) != 4 || r.Parameters == 0 || r.StateBytes == 0 || r.FLOPs == 0 {
		t.Errorf("record: %+v", r)
	}
	var text bytes.Buffer
	if err := a.Print(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1x", "2x", "parameters", "state B", "FLOPs/token", "chance 6.2", "learned", "±", "fixedK", "scaledK"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, text.String())
		}
	}
}

// TestDivergedCellIsShown: the cell keeps its place in table and figure, with
// the steps at which its runs ended.
func TestDivergedCellIsShown(t *testing.T) {
	a := ablation(t, tiny+"lengths=1,2", "0.5", "1")
	a.Cells[1].Task = poisoned{a.Cells[1].Task, 2}
	if err := a.Run(context.Background(), session(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if text := a.text(); !strings.Contains(text, "2 (seed 1 step 3, seed 2 step 3)") || !strings.Contains(text, "diverged") {
		t.Errorf("the table does not show the diverged cell:\n%s", text)
	}
	csv, err := os.ReadFile(filepath.Join(a.Dir, "accuracy.csv"))
	if err != nil || !strings.Contains(string(csv), "eta = 1") {
		t.Errorf("the figure's data lack the diverged cell (%v):\n%s", err, csv)
	}
}

func TestUnwritableFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	a := ablation(t, tiny)
	err := a.Run(context.Background(), session(), filepath.Join(file, "runs"))
	if err == nil || !strings.Contains(err.Error(), "out = ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
}

func TestInterruptKeepsWhatWasRecorded(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	dir := t.TempDir()
	r, err := session().run(ctx, parse(t, tiny), 1, dir, func(step int, _ measured, _ float64) {
		if step == 3 {
			cancel()
		}
	})
	if err == nil || r.Status != Stopped || !strings.Contains(r.Reason, "stopped after step 3") {
		t.Errorf("status %s, reason %q, error %v", r.Status, r.Reason, err)
	}
	if metrics, err := ReadMetrics(filepath.Join(dir, "metrics.jsonl")); err != nil || len(metrics) != 3 {
		t.Errorf("%d metrics, %v", len(metrics), err)
	}
}

// TestExtraRows: the loss of a step is that of the batch plus that of its extra
// rows, each a mean of its own.
func TestExtraRows(t *testing.T) {
	onPureGo(t)
	e := parse(t, "task=words group=s3 len=5 aux=3 steps=1 batch=2 width=8 dk=4 dv=4 heads=1")
	b, err := e.Task.Batch(datasets.Train, 1, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	if b.Extra == nil || b.Extra.Rows != 3 || b.Extra.T != 2 {
		t.Fatalf("extra rows: %+v", b.Extra)
	}
	tr, err := newTrainer(mustOpen(t), e)
	if err != nil {
		t.Fatal(err)
	}
	loss := func(b datasets.Batch) float64 {
		if err := tr.reset(e, 1); err != nil {
			t.Fatal(err)
		}
		m, err := tr.train(b, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return m.loss
	}
	both := loss(b)
	other := *b.Extra
	b.Extra = nil
	if sum := loss(b) + loss(other); math.Abs(both-sum) > 1e-5 {
		t.Errorf("loss %g, want %g", both, sum)
	}
	if test, err := e.Task.Batch(datasets.Test, 1, 0, 2); err != nil || test.Extra != nil {
		t.Errorf("a test batch has extra rows %v (%v)", test.Extra, err)
	}
	if _, err := Parse([]string{"aux=3"}); err == nil || !strings.HasPrefix(err.Error(), "experiment: aux = 3: only the task words") {
		t.Errorf("aux on another task: %v", err)
	}
}

func mustOpen(t *testing.T) compute.Backend {
	t.Helper()
	be, err := session().open()
	if err != nil {
		t.Fatal(err)
	}
	return be
}
