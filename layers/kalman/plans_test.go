package kalman

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/scan"
)

// Changing the chunks, the unrolling or the form changes nothing but rounding.
func TestPlansAgree(t *testing.T) {
	onPureGo(t)
	const T = 24
	all := []scan.Plan{}
	for _, tree := range []bool{false, true} {
		for _, n := range []int{1, 2, 3, 4, 5, 7, 12, 24, 100} {
			all = append(all, scan.Plan{Chunks: n, Unroll: 1 + n%4, Tree: tree})
		}
	}
	a := Random(rand.New(rand.NewPCG(5, 6)), 2, T, 3, 4, true)
	w := weightsOf(a)
	for dtype, tol := range map[dtypes.DType]float64{dtypes.Float64: 1e-13, dtypes.Float32: 1e-6} {
		want, wantGrad := evaluate(t, a, Options{Plan: scan.Plan{Chunks: 1, Unroll: 8}}, w, dtype)
		for _, plan := range all {
			out, g := evaluate(t, a, Options{Plan: plan}, w, dtype)
			what := fmt.Sprintf("%s, %+v", dtype, plan)
			report(t, what, out.list(), want.list(), tol)
			report(t, what+" gradient", g.list(), wantGrad.list(), 4*tol)
		}
	}
}

func weightsOf(a *Arrays) *Result {
	rng := rand.New(rand.NewPCG(7, 7))
	random := func(dims ...int) []float64 { return check.Random(rng, 1, dims...).Values }
	return &Result{random(a.B, a.T, a.M), random(a.B, a.T, a.M), random(a.B, a.M, a.S), random(a.B, a.M, a.S)}
}

// Lengths around a turn's and a chunk's edges, against the reference.
func TestLengths(t *testing.T) {
	onPureGo(t)
	lengths := []int{1, 2, 7, 8, 9, 19}
	for _, T := range lengths {
		a := Random(rand.New(rand.NewPCG(8, 9)), 2, T, 3, 4, T%2 == 0)
		w := weightsOf(a)
		want, err := Reference(a, true)
		if err != nil {
			t.Fatal(err)
		}
		wantGrad, err := ReferenceGradient(a, true, w)
		if err != nil {
			t.Fatal(err)
		}
		if a.Lambda == nil {
			wantGrad.Lambda, wantGrad.Eta = nil, nil
		}
		for name, plan := range plans {
			out, g := evaluate(t, a, Options{Prior: true, Plan: plan}, w, dtypes.Float64)
			what := fmt.Sprintf("T=%d, %s", T, name)
			report(t, what, out.list(), want.list(), 1e-12)
			report(t, what+" gradient", g.list(), wantGrad.list(), 1e-12)
		}
	}
}

// Splitting the sequence anywhere and carrying the state is one pass, gradients
// through the cut included.
func TestSplitPasses(t *testing.T) {
	onPureGo(t)
	const T = 37
	a := Random(rand.New(rand.NewPCG(10, 11)), 1, T, 3, 4, true)
	w := weightsOf(a)
	want, wantGrad := evaluate(t, a, Options{}, w, dtypes.Float64)
	cuts := map[string][]int{"3, 20": {3, 20}, "1": {1}, "3": {3}, "36": {36}}
	for i := 1; i < T; i++ {
		cuts["every token"] = append(cuts["every token"], i)
	}
	for name, at := range cuts {
		_, ins := graphOf(a, Options{})
		outs, grads, err := check.Gradients(check.Backend(), dtypes.Float64, func(x []*Node) []*Node {
			state := State{x[6], x[7]}
			var y, v []*Node
			from := 0
			for _, to := range append(at, T) {
				part := func(i int) *Node { return SliceAxis(x[i], 1, AxisRange(from, to)) }
				out := Filter(Inputs{V: part(0), Precision: part(1), K: part(2), Q: part(3), A: x[4], P: x[5], State: state}, Options{Variance: true})
				y, v, state, from = append(y, out.Y), append(v, out.YVar), out.State, to
			}
			return []*Node{Concatenate(y, 1), Concatenate(v, 1), state.Lambda, state.Eta}
		}, ins, weights(a, w))
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range want.list() {
			if e := check.RelErr(outs[i].Values, x); !(e <= 1e-13) {
				t.Errorf("cut at %s: output %d: relative error %.2g", name, i, e)
			}
		}
		for i, x := range wantGrad.list() {
			if e := check.RelErr(grads[i].Values, x); !(e <= 1e-12) {
				t.Errorf("cut at %s: gradient %d: relative error %.2g", name, i, e)
			}
		}
	}
}
