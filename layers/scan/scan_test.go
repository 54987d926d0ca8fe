package scan

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
)

// plans are all ways to evaluate a scan.
var plans = map[string]Plan{
	"loop":               {Chunks: 1, Unroll: 4},
	"loop, whole":        {Chunks: 1, Unroll: 1000},
	"tree":               {Chunks: 1, Unroll: 1000, Tree: true},
	"loop of trees":      {Chunks: 1, Unroll: 8, Tree: true},
	"two-level":          {Chunks: 3, Unroll: 2},
	"two-level of trees": {Chunks: 4, Unroll: 5, Tree: true},
	"token by token":     {Chunks: 1000, Unroll: 1},
	"chosen":             {},
}

func problem(rng *rand.Rand, T, F int, m Map) *Arrays {
	a := &Arrays{Map: m, T: T, F: F}
	uniform := func(lo, hi float64, n int) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = lo + (hi-lo)*rng.Float64()
		}
		return out
	}
	n := T * F
	if m != MoebiusMap {
		a.A, a.B, a.X0 = uniform(-1.1, 1.1, n), uniform(-1, 1, n), uniform(-1, 1, F)
		return a
	}
	a.A, a.B, a.C, a.D, a.X0 = uniform(0.5, 2, n), uniform(0, 1, n), uniform(0, 1, n), uniform(0.5, 2, n), uniform(0, 3, F)
	return a
}

// ins returns the arrays as [1,T,F] and [1,F].
func (a *Arrays) ins() []check.Array {
	var out []check.Array
	for _, x := range [][]float64{a.A, a.B, a.C, a.D} {
		if x != nil {
			out = append(out, check.Array{Dims: []int{1, a.T, a.F}, Values: x})
		}
	}
	return append(out, check.Array{Dims: []int{1, a.F}, Values: a.X0})
}

func graphOf(m Map, plan Plan) func(x []*Node) []*Node {
	return func(x []*Node) []*Node {
		var xs, last *Node
		switch m {
		case AffineMap:
			xs, last = Affine(x[0], x[1], x[2], plan)
		case MoebiusMap:
			xs, last = Moebius(x[0], x[1], x[2], x[3], x[4], plan)
		case MaxPlusMap:
			xs, last = MaxPlus(x[0], x[1], x[2], plan)
		}
		return []*Node{xs, last, Exclusive(xs, x[len(x)-1])}
	}
}

func TestArraysAgreeWithReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	lengths := []int{1, 2, 7, 8, 9, 19}
	compiles := check.Compiled()
	if compiles {
		lengths = lengths[5:] // a graph takes seconds to compile: there the chosen form in float32 alone
	}
	for name, plan := range plans {
		if compiles && name != "chosen" {
			continue
		}
		for m, mapName := range []string{"affine", "moebius", "max-plus"} {
			for _, T := range lengths {
				a := problem(rng, T, 3, Map(m))
				want, err := Reference(a)
				if err != nil {
					t.Fatal(err)
				}
				// Weights on the states, on the last and on those before tokens
				// add up to one weight on each state.
				w := []check.Array{check.Random(rng, 1, 1, T, 3), check.Random(rng, 1, 1, 3), check.Random(rng, 1, 1, T, 3)}
				d := append([]float64{}, w[0].Values...)
				for i := range 3 {
					d[(T-1)*3+i] += w[1].Values[i]
				}
				for i := range (T - 1) * 3 {
					d[i] += w[2].Values[i+3]
				}
				g, err := ReferenceGradient(a, d)
				if err != nil {
					t.Fatal(err)
				}
				for i := range 3 {
					g.X0[i] += w[2].Values[i]
				}
				for dtype, tol := range map[dtypes.DType]float64{dtypes.Float64: 1e-12, dtypes.Float32: 1e-5} {
					if compiles && dtype == dtypes.Float64 {
						continue
					}
					what := fmt.Sprintf("%s, %s, T=%d, %s", name, mapName, T, dtype)
					outs, grads, err := check.Gradients(check.Backend(), dtype, graphOf(Map(m), plan), a.ins(), w)
					if err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					if e := check.RelErr(outs[0].Values, want); !(e <= tol) {
						t.Errorf("%s: states: relative error %.2g", what, e)
					}
					if e := check.RelErr(outs[1].Values, want[(T-1)*3:]); !(e <= tol) {
						t.Errorf("%s: last: relative error %.2g", what, e)
					}
					if e := check.RelErr(outs[2].Values[3:], want[:(T-1)*3]); T > 1 && !(e <= tol) {
						t.Errorf("%s: exclusive: relative error %.2g", what, e)
					}
					for i, in := range g.ins() {
						if e := check.RelErr(grads[i].Values, in.Values); !(e <= 10*tol) {
							t.Errorf("%s: gradient %d: relative error %.2g", what, i, e)
						}
					}
				}
			}
		}
	}
}
