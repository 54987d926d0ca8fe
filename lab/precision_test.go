package lab

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"

	"github.com/kalmarz/kalmarz/datasets"
	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/mixer"
)

// firstStep takes one step from the initial parameters of seed 1.
func firstStep(t *testing.T, words string) (*trainer, measured) {
	t.Helper()
	e := parse(t, words)
	tr, err := newTrainer(mustOpen(t), e)
	if err != nil {
		t.Fatal(err)
	}
	b, err := e.Task.Batch(datasets.Train, 1, 0, e.Int("batch"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.train(b, 0, 0); err != nil { // makes the parameters
		t.Fatalf("%s: %v", words, err)
	}
	if err := tr.reset(e, 1); err != nil {
		t.Fatal(err)
	}
	m, err := tr.train(b, 1e-3, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	return tr, m
}

// TestBFloat16 compares the first step of every mixer with that in float32.
// bfloat16 rounds by at most 2⁻⁹, a path through a mixer rounds some 6 times,
// and logits are about 1 at first: they move by about 0.012, the loss by at
// most twice that, and gradients, through as many roundings again and smaller
// norms, by a few percent.
func TestBFloat16(t *testing.T) {
	for _, k := range mixer.Registry {
		if check.Compiled() && !slices.Contains([]string{"softmax", "gdn", "kalman"}, k.Name) {
			continue
		}
		words := "width=16 mlp=24 batch=4 len=16 pairs=2 vocab=16 mixer=" + k.Name
		_, wide := firstStep(t, words)
		tr, narrow := firstStep(t, words+" precision=bf16")
		if d := math.Abs(wide.loss - narrow.loss); !(d < 0.025) || d == 0 {
			t.Errorf("%s: loss %g in float32, %g in bf16", k.Name, wide.loss, narrow.loss)
		}
		if r := narrow.gradNorm / wide.gradNorm; !(math.Abs(r-1) < 0.1) {
			t.Errorf("%s: gradient norm %g in float32, %g in bf16", k.Name, wide.gradNorm, narrow.gradNorm)
		}
		for v := range tr.set.Store.IterVariables() { // parameters and the optimiser's state
			if v.DType() != dtypes.Float32 {
				t.Errorf("%s: %s is %s", k.Name, v.Path(), v.DType())
			}
		}
	}
}

// TestBFloat16Learns trains to near perfection; the checkpoint then holds
// values that bfloat16 could not.
func TestBFloat16Learns(t *testing.T) {
	dir := t.TempDir()
	e := parse(t, "precision=bf16 len=8 pairs=2 vocab=8 width=16 steps=100 batch=16 lengths=1 eval_rows=64")
	r, err := session().run(context.Background(), e, 1, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Evals) == 0 || !(r.Evals[0].Micro > 0.95) {
		t.Errorf("accuracy %v", r.Evals)
	}
	w, _, err := ReadWeights(dir + "/weights.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	finer := 0
	for _, x := range w["embedding"] {
		if math.Float32bits(float32(x))&0xffff != 0 {
			finer++
		}
	}
	if n := len(w["embedding"]); n == 0 || finer < n/2 {
		t.Errorf("%d of %d embedding values have more digits than bfloat16", finer, n)
	}
}

// TestFloat64 resumes a run in float64 to the byte; its checkpoint holds more
// digits than float32 has, and is close to that of a run in float32.
func TestFloat64(t *testing.T) {
	onPureGo(t)
	words := strings.Replace(resumable, "steps=10", "steps=4", 1) + "optimizer=muon smallest=4 accumulate=2 precision="
	want := uninterrupted(t, words+"float64")
	dir := stopAt(t, session(), words+"float64", 2)
	if _, err := fresh().Resume(context.Background(), dir, nil); err != nil {
		t.Fatal(err)
	}
	if a, b := outcome(t, dir, 4), outcome(t, want, 4); a != b {
		t.Errorf("resumed\n%sat once\n%s", a, b)
	}
	w, _, err := ReadWeights(want + "/weights.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	single, _, err := ReadWeights(uninterrupted(t, words+"float32") + "/weights.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	finer := 0
	for i, x := range w["head"] {
		if x != float64(float32(x)) {
			finer++
		}
		if d := math.Abs(x - single["head"][i]); d > 1e-3 {
			t.Errorf("head[%d] is %g in float64, %g in float32", i, x, single["head"][i])
		}
	}
	if finer == 0 {
		t.Error("no value has more digits than float32")
	}
	if _, _, err := session().loadRun(want); err != nil {
		t.Error(err)
	}
}
