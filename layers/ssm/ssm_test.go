package ssm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/scan"
)

var plans = map[string]scan.Plan{
	"loop": {Chunks: 1, Unroll: 4}, "tree": {Chunks: 1, Unroll: 8, Tree: true},
	"two-level": {Chunks: 3, Unroll: 4}, "chosen": {},
}

func TestFormsAgreeWithReference(t *testing.T) {
	lengths := []int{1, 2, 7, 8, 9, 19}
	// Compiled, each operator runs once in float32 with all its gradients, in the
	// form chosen by default; the rest is tested on pure Go.
	if check.Compiled() {
		lengths = lengths[5:]
	}
	for _, T := range lengths {
		for name, o := range operators(T) {
			x := o.values()
			want, err := o.reference(x)
			if err != nil {
				t.Fatal(err)
			}
			w := make([]check.Array, len(want))
			rng := rand.New(rand.NewPCG(7, 7))
			for i := range w {
				w[i] = check.Random(rng, 1, len(want[i]))
			}
			loss := func() float64 {
				ys, err := o.reference(x)
				if err != nil {
					t.Fatal(err)
				}
				sum := 0.0
				for i, y := range ys {
					for j, v := range y {
						sum += v * w[i].Values[j]
					}
				}
				return sum
			}
			for planName, plan := range plans {
				if check.Compiled() && planName != "chosen" {
					continue
				}
				for dtype, tol := range map[dtypes.DType][2]float64{dtypes.Float64: {1e-12, 2e-7}, dtypes.Float32: {2e-5, 2e-4}} {
					if check.Compiled() && dtype == dtypes.Float64 {
						continue
					}
					what := fmt.Sprintf("%s, T=%d, %s, %s", name, T, planName, dtype)
					flat := func(x []*Node) []*Node {
						ys := o.graph(x, plan)
						for i, y := range ys {
							ys[i] = Reshape(y, -1)
						}
						return ys
					}
					outs, grads, err := check.Gradients(check.Backend(), dtype, flat, o.ins, w)
					if err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					for i := range want {
						if e := check.RelErr(outs[i].Values, want[i]); !(e <= tol[0]) {
							t.Errorf("%s: output %d: relative error %.2g", what, i, e)
						}
					}
					for i := range grads { // against central differences of the reference
						if e := check.RelErr(grads[i].Values, differences(x[i], loss)); !(e <= tol[1]) {
							t.Errorf("%s: gradient %d: relative error %.2g", what, i, e)
						}
					}
				}
			}
		}
	}
}

func onPureGo(t *testing.T) {
	t.Helper()
	if check.Compiled() {
		t.Skip("on pure Go alone: each graph takes seconds to compile here")
	}
}

func differences(x []float64, loss func() float64) []float64 {
	const h = 1e-6
	out := make([]float64, len(x))
	for i, v := range x {
		x[i] = v + h
		up := loss()
		x[i] = v - h
		out[i] = (up - loss()) / (2 * h)
		x[i] = v
	}
	return out
}
