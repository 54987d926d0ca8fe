package lab

import (
	"context"
	"math"
	"testing"

	"github.com/kalmarz/kalmarz/datasets"
	"github.com/kalmarz/kalmarz/layers/param"
)

// TestAccumulateEqualsTheWholeBatch: parts with different numbers of scored
// positions, and extra rows, give the loss and the gradient of the whole batch.
func TestAccumulateEqualsTheWholeBatch(t *testing.T) {
	const words = "task=words group=s3 len=5 aux=4 batch=4 width=8 dk=4 dv=4 heads=1 accumulate="
	var want measured
	for i, parts := range []string{"1", "2", "4"} {
		e := parse(t, words+parts)
		tr, err := newTrainer(mustOpen(t), e)
		if err != nil {
			t.Fatal(err)
		}
		b, err := e.Task.Batch(datasets.Train, 1, 0, 4)
		if err != nil {
			t.Fatal(err)
		}
		clear(b.Mask[:b.T])        // the first row scores nothing
		clear(b.Mask[b.T : b.T+3]) // and the second little
		var m measured
		for step := range 3 { // the sums begin anew
			if m, err = tr.train(b, 1e-4, 1e-4); err != nil {
				t.Fatal(err)
			}
			if step == 0 {
				if err := tr.reset(e, 1); err != nil {
					t.Fatal(err)
				}
			}
		}
		if i == 0 {
			want = m
			continue
		}
		for _, x := range []struct {
			name      string
			got, want float64
		}{
			{"loss", m.loss, want.loss}, {"gradient norm", m.gradNorm, want.gradNorm}, {"weight norm", m.weightNorm, want.weightNorm},
			{"update", float64(m.updates["adamw"]), float64(want.updates["adamw"])},
		} {
			if !(math.Abs(x.got/x.want-1) < 1e-5) {
				t.Errorf("%s parts: %s %.9g, want %.9g", parts, x.name, x.got, x.want)
			}
		}
	}
}

// TestResumedOptimisers is TestResumedEqualsUninterrupted for other ways to
// train.
func TestResumedOptimisers(t *testing.T) {
	for _, words := range []string{
		"optimizer=muon smallest=4", "optimizer=normuon smallest=4 schedule=wsd lr=0.002", "accumulate=2", "optimizer=muon smallest=4 accumulate=2 precision=bf16 rest_schedule=constant rest_lr=0.5",
	} {
		words = resumable + words
		want := outcome(t, uninterrupted(t, words), 10)
		dir := stopAt(t, session(), words, 5)
		if _, err := fresh().Resume(context.Background(), dir, nil); err != nil {
			t.Fatalf("%s: %v", words, err)
		}
		if got := outcome(t, dir, 10); got != want {
			t.Errorf("%s: got\n%swant\n%s", words, got, want)
		}
	}
}

// TestUnfinishedParts: what a step that failed has added up does not reach the
// next run.
func TestUnfinishedParts(t *testing.T) {
	e := parse(t, resumable+"accumulate=2")
	tr, err := newTrainer(mustOpen(t), e)
	if err != nil {
		t.Fatal(err)
	}
	b, err := e.Task.Batch(datasets.Train, 1, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.train(b, 0, 0); err != nil {
		t.Fatal(err)
	}
	var losses [2]float64
	for i := range losses {
		if err := tr.reset(e, 1); err != nil {
			t.Fatal(err)
		}
		m, err := tr.train(b, 1e-3, 1e-3)
		if err != nil {
			t.Fatal(err)
		}
		losses[i] = m.loss
		if _, err := tr.gather.Call(partArgs(b, 0, 2)...); err != nil {
			t.Fatal(err)
		}
	}
	if losses[0] != losses[1] {
		t.Errorf("loss %g, then %g", losses[0], losses[1])
	}
}

// TestStateStaysOnTheDevice: a step leaves what it changes on the device alone.
func TestStateStaysOnTheDevice(t *testing.T) {
	for _, words := range []string{"optimizer=normuon smallest=4", "accumulate=2"} {
		tr, _ := firstStep(t, resumable+words)
		changed, fixed := 0, map[string]bool{}
		for _, e := range tr.set.Entries() {
			fixed[e.Variable().Path()] = e.Role == param.Fixed
		}
		for v := range tr.set.Store.IterVariables() {
			if fixed[v.Path()] {
				continue
			}
			x, err := v.Value()
			if err != nil {
				t.Fatal(err)
			}
			if changed++; !x.IsOnAnyDevice() || x.HasLocal() {
				t.Errorf("%s: %s is also on the host", words, v.Path())
			}
		}
		if changed < 20 {
			t.Errorf("%s: only %d variables", words, changed)
		}
	}
}
