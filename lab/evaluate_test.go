package lab

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalmarz/kalmarz/datasets"
)

// prose is a text in a file of its own, so that nothing depends on the toolchain,
// and tokens are not kept outside the test.
func prose(t *testing.T) string {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	path := filepath.Join(t.TempDir(), "prose.txt")
	if err := os.WriteFile(path, []byte(strings.Repeat("the cat sat on the mat. ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTextEvaluation: perplexity and bits per byte are of the loss, which is
// that of the scored tokens; each length reads the same text.
func TestTextEvaluation(t *testing.T) {
	onPureGo(t)
	e := parse(t, tiny+"task=text len=16 lengths=1,2,4 corpus="+prose(t))
	r, err := session().run(context.Background(), e, 1, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Evals) != 3 {
		t.Fatalf("%d evaluations", len(r.Evals))
	}
	for _, ev := range r.Evals {
		nats := float64(ev.Loss)
		if ev.Mode != "windows" || ev.T != 16*ev.Factor || ev.Rows != 8/ev.Factor || ev.Tokens != "bytes" {
			t.Errorf("%+v", ev)
		}
		if nats <= 0 || nats > 2*math.Log(257) || math.Abs(float64(ev.Perplexity)-math.Exp(nats)) > 1e-9*math.Exp(nats) {
			t.Errorf("%dx: %g nats, perplexity %g", ev.Factor, nats, float64(ev.Perplexity))
		}
		// A byte a token, and no separator in this part of the text.
		if want := nats / math.Ln2; math.Abs(float64(ev.BitsPerByte)-want) > 1e-9*want {
			t.Errorf("%dx: %g bits/byte, want %g", ev.Factor, float64(ev.BitsPerByte), want)
		}
	}
}

// TestLossIsTheTrainingLoss: the evaluation's nats are those of the loss graph
// on the same rows.
func TestLossIsTheTrainingLoss(t *testing.T) {
	e := parse(t, tiny)
	s := session()
	if _, err := s.run(context.Background(), e, 1, t.TempDir(), nil); err != nil {
		t.Fatal(err)
	}
	tr, err := s.trainer(e)
	if err != nil {
		t.Fatal(err)
	}
	ev, err := tr.score(e.Task, datasets.Test, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	b, err := e.Task.Batch(datasets.Test, 1, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	m, err := tr.train(b, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(m.loss-float64(ev.Loss)) > 1e-5 {
		t.Errorf("%g nats in evaluation, %g in training", float64(ev.Loss), m.loss)
	}
}

// TestDetails: bins together are all scored positions, and their accuracies add
// up to the whole; the last position has a bin of its own.
func TestDetails(t *testing.T) {
	onPureGo(t)
	e := parse(t, strings.Replace(tiny, "eval_rows=8", "eval_rows=5", 1)+"task=words lengths=1,2")
	r, err := session().run(context.Background(), e, 1, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range r.Evals {
		if len(ev.Details) != 1 || ev.Rows != 5 {
			t.Fatalf("%+v", ev)
		}
		scored, right, nats := 0, 0.0, 0.0
		bins := ev.Details[0].Bins
		for _, b := range bins {
			scored += b.Scored
			right += float64(b.Micro) * float64(b.Scored)
			nats += float64(b.Loss) * float64(b.Scored)
		}
		n := float64(scored)
		if scored != 5*ev.T || math.Abs(right/n-float64(ev.Micro)) > 1e-9 || math.Abs(nats/n-float64(ev.Loss)) > 1e-9 {
			t.Errorf("%d scored, accuracy %g and %g nats of bins, %+v", scored, right/n, nats/n, ev)
		}
		if last := bins[len(bins)-1]; last.Name != "last" || last.Scored != 5 {
			t.Errorf("last bin %+v", last)
		}
	}
}

// TestPartialCallsCount: rows that do not fill the last call are each counted
// once.
func TestPartialCallsCount(t *testing.T) {
	onPureGo(t)
	e := parse(t, tiny+"len=1024 lengths=1") // four rows a call
	s := session()
	if _, err := s.run(context.Background(), e, 1, t.TempDir(), nil); err != nil {
		t.Fatal(err)
	}
	tr, err := s.trainer(e)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := tr.score(e.Task, datasets.Test, 1, 8)
	if err != nil {
		t.Fatal(err)
	}
	part, err := tr.score(e.Task, datasets.Test, 1, 7)
	if err != nil {
		t.Fatal(err)
	}
	if whole.Rows != 8 || part.Rows != 7 || whole.Loss == part.Loss {
		t.Errorf("%d rows of 8, %d of 7, losses %g and %g", whole.Rows, part.Rows, whole.Loss, part.Loss)
	}
}

// TestTrainShowsDetails: what train and ablate print has the last position, and
// for a text its costs with their units.
func TestTrainShowsDetails(t *testing.T) {
	onPureGo(t)
	path := prose(t)
	run := func(command, words string) string {
		text, err := say(t, command, strings.Fields(words+" out="+t.TempDir())...)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	contains := func(text string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("lacks %q:\n%s", w, text)
			}
		}
	}
	contains(run("train", tiny+"task=words lengths=1,2"), "mean of 2 seeds ± 95 % t-interval", "lengthened as len", "accuracy in % by position and length", "\nlast ", "state of one sequence after 12 tokens", "exact %", "chance %")
	contains(run("train", tiny+"task=text len=16 lengths=1,2 corpus="+path), "perplexity per token of bytes", "bits/byte", "lengthened as windows")
	contains(run("ablate", "width 8 12 "+tiny+"task=text len=16 lengths=1,2 corpus="+path), "perplexity per token of bytes, lengthened as windows", "bits per byte, lengthened as windows", "at the training length, by position")
}

// TestCompressionBeatsChance: through the decoder, from one vector.
func TestCompressionBeatsChance(t *testing.T) {
	onPureGo(t)
	e := parse(t, "task=compression steps=200 seeds=1 lengths=1")
	if !e.Model.FromLast {
		t.Fatal("no decoder")
	}
	r, err := session().run(context.Background(), e, 1, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if ev := r.Evals[0]; ev.Chance != 0.25 || ev.Micro < 0.4 {
		t.Errorf("accuracy %g, chance %g", ev.Micro, ev.Chance)
	}
}
