package delta

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
)

// problem is a random problem, with or without an initial state.
func problem(rng *rand.Rand, B, T, H, K, V, decays int, strength float64, erase, state bool) *Arrays {
	a := Random(rng, B, T, H, K, V, decays, strength, erase)
	if !state {
		a.State = nil
	}
	return a
}

// graphOf wraps a form as a function of the problem's inputs that are present.
func graphOf(a *Arrays, form func(Inputs) Outputs) (fn func([]*Node) []*Node, ins []check.Array) {
	add := func(values []float64, dims ...int) {
		if values != nil {
			ins = append(ins, check.Array{Dims: dims, Values: values})
		}
	}
	add(a.Q, a.B, a.T, a.H, a.K)
	add(a.Key, a.B, a.T, a.H, a.K)
	add(a.Write, a.B, a.T, a.H, a.V)
	if !a.shared() {
		add(a.Erase, a.B, a.T, a.H, a.K)
	}
	add(a.Rate, a.B, a.T, a.H)
	if a.LogDecay != nil {
		if a.decays() == 1 {
			add(a.LogDecay, a.B, a.T, a.H)
		} else {
			add(a.LogDecay, a.B, a.T, a.H, a.K)
		}
	}
	add(a.State, a.B, a.H, a.K, a.V)
	return func(x []*Node) []*Node {
		in := Inputs{Q: x[0], K: x[1], Write: x[2]}
		x = x[3:]
		take := func(present bool) (n *Node) {
			if present {
				n, x = x[0], x[1:]
			}
			return
		}
		if a.shared() {
			in.Erase = in.K
		} else {
			in.Erase = take(a.Erase != nil)
		}
		in.Rate, in.LogDecay, in.State = take(a.Rate != nil), take(a.LogDecay != nil), take(a.State != nil)
		o := form(in)
		return []*Node{o.O, o.State, o.U}
	}, ins
}

func (a *Arrays) inputs() [][]float64 {
	var out [][]float64
	for i, x := range [][]float64{a.Q, a.Key, a.Write, a.Erase, a.Rate, a.LogDecay, a.State} {
		if x != nil && (i != 3 || !a.shared()) {
			out = append(out, x)
		}
	}
	return out
}

// compare runs a form with losses on o, S_T and u and reports its errors.
func compare(t *testing.T, name string, a *Arrays, dtype dtypes.DType, form func(Inputs) Outputs, tolOut, tolGrad float64) {
	t.Helper()
	want, wantGrad, w := referenceOf(t, a)
	fn, ins := graphOf(a, form)
	outs, grads, err := check.Gradients(check.Backend(), dtype, fn, ins, w)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for i, wv := range [][]float64{want.O, want.State, want.U} {
		if e := check.RelErr(outs[i].Values, wv); !(e <= tolOut) {
			t.Errorf("%s %s: output %s: relative error %.2g > %.2g", name, dtype, resultNames[i], e, tolOut)
		}
	}
	for i, wv := range wantGrad.inputs() {
		if e := check.RelErr(grads[i].Values, wv); !(e <= tolGrad) {
			t.Errorf("%s %s: gradient %d: relative error %.2g > %.2g", name, dtype, i, e, tolGrad)
		}
	}
}

func chunkedBy(c int) func(Inputs) Outputs {
	return func(in Inputs) Outputs { return Run(in, Form{Chunk: c}) }
}

func TestFormsAgreeWithReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const C = 16
	for _, decays := range []int{0, 1, 5} {
		for _, erase := range few([]bool{true, false}, decays > 0) {
			for _, T := range few([]int{1, 2, C - 1, C, C + 1, 2*C + 3}, C+1) {
				a := problem(rng, 2, T, 2, 5, 3, decays, 0.3, erase, T%2 == 1)
				if erase && T == C+1 {
					a.ByRate(rng)
				}
				name := fmt.Sprintf("decays=%d erase=%v T=%d rates=%v", decays, erase, T, a.Rate != nil)
				if T <= C+1 && slices.Contains(few([]int{0, 1, 5}, 1), decays) {
					compare(t, name+" recurrent", a, dtypes.Float64, Recurrent, 1e-12, 1e-12)
				}
				for _, dtype := range few([]dtypes.DType{dtypes.Float64, dtypes.Float32}, dtypes.Float64) {
					tolOut, tolGrad := 1e-12, 1e-12
					if dtype == dtypes.Float32 {
						tolOut, tolGrad = 1e-5, 1e-4
					}
					compare(t, name+" chunked", a, dtype, chunkedBy(C), tolOut, tolGrad)
				}
			}
		}
	}
}

// TestManyChunks crosses more chunks than are repeated in the graph: there the
// crossing is a loop.
func TestManyChunks(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		decays int
		erase  bool
	}{{0, true}, {1, false}, {3, true}} {
		a := problem(rng, 2, inlineChunks+6, 2, 3, 2, c.decays, 0.3, c.erase, true)
		name := fmt.Sprintf("%+v", c)
		compare(t, name, a, dtypes.Float64, chunkedBy(1), 1e-12, 1e-12)
		compare(t, name, a, dtypes.Float32, chunkedBy(1), 1e-5, 1e-4)
	}
}
