package delta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
)

// problem makes random inputs: unit keys, e = βk, and log-decays of -strength
// times a uniform number. decays is 0, 1 or K.
func problem(rng *rand.Rand, B, T, H, K, V, decays int, strength float64, erase, state bool) *Arrays {
	a := &Arrays{B: B, T: T, H: H, K: K, V: V}
	n := B * T * H
	a.Q = check.Random(rng, 1/float64(K), n, K).Values
	a.Key = check.Random(rng, 1, n, K).Values
	a.Write = check.Random(rng, 1, n, V).Values
	if erase {
		a.Erase = make([]float64, n*K)
	}
	for i := range n {
		k := a.Key[i*K : i*K+K]
		norm := 0.0
		for _, x := range k {
			norm += x * x
		}
		beta := rng.Float64()
		for j := range k {
			k[j] /= math.Sqrt(norm)
			if erase {
				a.Erase[i*K+j] = beta * k[j]
			}
		}
	}
	for range n * decays {
		a.LogDecay = append(a.LogDecay, -strength*rng.Float64())
	}
	if state {
		a.State = check.Random(rng, 1, B*H, K*V).Values
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
	add(a.Erase, a.B, a.T, a.H, a.K)
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
		in.Erase, in.LogDecay, in.State = take(a.Erase != nil), take(a.LogDecay != nil), take(a.State != nil)
		o := form(in)
		return []*Node{o.O, o.State, o.U}
	}, ins
}

func (a *Arrays) inputs() [][]float64 {
	var out [][]float64
	for _, x := range [][]float64{a.Q, a.Key, a.Write, a.Erase, a.LogDecay, a.State} {
		if x != nil {
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
	return func(in Inputs) Outputs { return Chunked(in, c) }
}

func TestFormsAgreeWithReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const C = 16
	for _, decays := range []int{0, 1, 5} {
		for _, erase := range []bool{true, false} {
			for _, T := range []int{1, 2, C - 1, C, C + 1, 2*C + 3} {
				a := problem(rng, 2, T, 2, 5, 3, decays, 0.3, erase, T%2 == 1)
				name := fmt.Sprintf("decays=%d erase=%v T=%d", decays, erase, T)
				if T <= C+1 {
					compare(t, name+" recurrent", a, dtypes.Float64, Recurrent, 1e-12, 1e-12)
				}
				compare(t, name+" chunked", a, dtypes.Float64, chunkedBy(C), 1e-12, 1e-12)
				compare(t, name+" chunked", a, dtypes.Float32, chunkedBy(C), 1e-5, 1e-4)
			}
		}
	}
}
