package delta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
)

// ones is a problem of one head and width 1 in which q, k and z are all 1.
func ones(B, T int) *Arrays {
	one := slices.Repeat([]float64{1}, B*T)
	return &Arrays{B: B, T: T, H: 1, K: 1, V: 1, Q: one, Key: one, Write: one}
}

// With q = k = z = 1 and g = -5 the outputs sum to Σ_{s<=r} exp(-5(r-s)), and
// g_1 alone scales what token 0 hands on: its gradient is Σ_{r>0} exp(-5r). The
// exponent of a pair s > r reaches 315, beyond float32: it may not be taken.
func TestExponentIsTakenBelowTheDiagonalOnly(t *testing.T) {
	const C = 64
	a := ones(1, C)
	a.LogDecay = slices.Repeat([]float64{-5}, C)
	w := []check.Array{{Dims: []int{1, C, 1, 1}, Values: a.Q}}
	for _, rank := range few([]int{3, 4}, 4) {
		for _, base := range few([]int{1, 8, C}, 8) {
			fn, ins := graphOf(a, func(in Inputs) Outputs {
				if rank == 4 {
					in.LogDecay = InsertAxes(in.LogDecay, -1)
				}
				return chunked(in, Form{Chunk: C}, base)
			})
			outs, grads, err := check.Gradients(check.Backend(), dtypes.Float32, fn, ins, w)
			if err != nil {
				t.Fatal(err)
			}
			loss := 0.0
			for _, o := range outs[0].Values {
				loss += o
			}
			name := fmt.Sprintf("log-decay of rank %d, base %d", rank, base)
			if g := grads[3].Values[1]; math.Abs(loss-64.4273) > 1e-4 || math.Abs(g-0.0067837) > 1e-7 {
				t.Errorf("%s: loss %.6g, gradient %.6g, expected 64.4273 and 0.0067837", name, loss, g)
			}
			for i, g := range grads {
				for _, v := range g.Values {
					if math.IsNaN(v) || math.IsInf(v, 0) {
						t.Fatalf("%s: gradient %d holds %g", name, i, v)
					}
				}
			}
		}
	}
}

// Each batch row has its own decay, constant or mixed.
func TestDecaySweep(t *testing.T) {
	const T, K = 70, 4
	strengths := []float64{-0.01, -1, -2.5, -3, -5, -20, -50}
	for _, width := range []int{1, K} {
		rng := rand.New(rand.NewPCG(3, 4))
		a := problem(rng, len(strengths)+2, T, 1, K, 3, width, 1, true, true)
		row := T * width
		for b, g := range strengths {
			for i := range row {
				a.LogDecay[b*row+i] = g
			}
		}
		for i := range 2 * row { // one token in 16, or one channel, forgets at once
			g := -0.01
			if i < row && i/width%16 == 5 || i >= row && i%7 == 3 {
				g = -50
			}
			a.LogDecay[len(strengths)*row+i] = g
		}
		want, wantGrad, w := referenceOf(t, a)
		for _, C := range few([]int{16, 32, 64}, 32) {
			fn, ins := graphOf(a, chunkedBy(C))
			outs, grads, err := check.Gradients(check.Backend(), dtypes.Float32, fn, ins, w)
			if err != nil {
				t.Fatal(err)
			}
			for b := range a.B {
				at := func(x []float64) []float64 { return x[b*len(x)/a.B : (b+1)*len(x)/a.B] }
				for i, x := range [][]float64{want.O, want.State, want.U} {
					if e := relRMS(at(outs[i].Values), at(x)); !(e < 1e-5) {
						t.Errorf("decays per token %d, row %d, C=%d: %s is off by %.2g", width, b, C, resultNames[i], e)
					}
				}
				for i, x := range wantGrad.inputs() {
					if e := relRMS(at(grads[i].Values), at(x)); !(e < 1e-5) {
						t.Errorf("decays per token %d, row %d, C=%d: gradient %d is off by %.2g", width, b, C, i, e)
					}
				}
			}
		}
	}
}

// few returns what to test: all, or where a graph takes seconds to compile, as
// with XLA, one that stands for them.
func few[T any](all []T, one T) []T {
	if !check.Compiled() {
		return all
	}
	return []T{one}
}

var resultNames = []string{"o", "state", "u"}

// referenceOf returns the reference's results and gradients for the loss with
// random weights w on o, the final state and u.
func referenceOf(t *testing.T, a *Arrays) (out *Result, grad *Arrays, w []check.Array) {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 7))
	w = []check.Array{
		check.Random(rng, 1, a.B, a.T, a.H, a.V), check.Random(rng, 1, a.B, a.H, a.K, a.V), check.Random(rng, 1, a.B, a.T, a.H, a.V)}
	out, err := Reference(a)
	if err == nil {
		grad, err = ReferenceGradient(a, &Result{O: w[0].Values, State: w[1].Values, U: w[2].Values})
	}
	if err != nil {
		t.Fatal(err)
	}
	if a.State == nil {
		grad.State = nil
	}
	return
}

// relRMS is the root mean square of a-b over that of b, or +Inf if a holds
// anything that is not finite.
func relRMS(a, b []float64) float64 {
	diff, scale := 0.0, 0.0
	for i := range b {
		diff += (a[i] - b[i]) * (a[i] - b[i])
		scale += b[i] * b[i]
	}
	if math.IsNaN(diff) {
		return math.Inf(1)
	}
	return math.Sqrt(diff / scale)
}
