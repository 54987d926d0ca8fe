package kalman

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
)

// Padding on the left, on the right or in between changes nothing, and has
// gradients of exactly 0.
func TestPaddingIsInert(t *testing.T) {
	onPureGo(t)
	const T, M, S = 9, 3, 4
	a := Random(rand.New(rand.NewPCG(14, 15)), 1, T, M, S, true)
	w := weightsOf(a)
	want, err := Reference(a, false)
	if err != nil {
		t.Fatal(err)
	}
	wantGrad, err := ReferenceGradient(a, false, w)
	if err != nil {
		t.Fatal(err)
	}
	for place, pads := range map[string][]int{"left": {0, 1, 2}, "right": {9, 10, 11}, "interior": {4, 5, 8}, "all over": {0, 3, 4, 11}} {
		long := T + len(pads)
		isPad := make([]bool, long)
		for _, p := range pads {
			isPad[p] = true
		}
		widen := func(x []float64, width int, fill float64) []float64 {
			var out []float64
			for t := range long {
				if isPad[t] {
					for range width {
						out = append(out, fill)
					}
					continue
				}
				out, x = append(out, x[:width]...), x[width:]
			}
			return out
		}
		narrow := func(x []float64, width int) (kept, padded []float64) {
			for t := range long {
				if isPad[t] {
					padded = append(padded, x[t*width:][:width]...)
				} else {
					kept = append(kept, x[t*width:][:width]...)
				}
			}
			return kept, padded
		}
		ones := make([]float64, T)
		for i := range ones {
			ones[i] = 1
		}
		b := *a
		b.T = long
		b.V, b.Precision, b.K, b.Q = widen(a.V, M, 5), widen(a.Precision, M, 7), widen(a.K, S, 3), widen(a.Q, S, 2)
		wide := &Result{widen(w.Y, M, 11), widen(w.YVar, M, 11), w.Lambda, w.Eta}
		for name, plan := range plans {
			_, ins := graphOf(&b, Options{})
			ins = append(ins, check.Array{Dims: []int{1, long}, Values: widen(ones, 1, 0)})
			outs, grads, err := check.Gradients(check.Backend(), dtypes.Float64, func(x []*Node) []*Node {
				out := Filter(Inputs{V: x[0], Precision: x[1], K: x[2], Q: x[3], A: x[4], P: x[5], State: State{x[6], x[7]}, Mask: x[8]},
					Options{Variance: true, Plan: plan})
				return []*Node{out.Y, out.YVar, out.State.Lambda, out.State.Eta}
			}, ins, weights(&b, wide))
			if err != nil {
				t.Fatal(err)
			}
			what := fmt.Sprintf("padding %s, %s", place, name)
			for i, width := range []int{M, M, 0, 0} {
				got := outs[i].Values
				if width > 0 {
					var padded []float64
					got, padded = narrow(got, width)
					allZero(t, what+" output", padded)
				}
				report(t, what, [][]float64{got}, want.list()[i:i+1], 1e-13)
			}
			for i, width := range []int{M, M, S, S, 0, 0, 0, 0} {
				got := grads[i].Values
				if width > 0 {
					var padded []float64
					got, padded = narrow(got, width)
					allZero(t, what+" gradient", padded)
				}
				report(t, what+" gradient", [][]float64{got}, wantGrad.list()[i:i+1], 1e-12)
			}
		}
	}
}

func allZero(t *testing.T, what string, x []float64) {
	t.Helper()
	for _, v := range x {
		if v != 0 {
			t.Fatalf("%s: %g at a pad, expected 0", what, v)
		}
	}
}
