package kalman

import (
	"math"
	"math/rand/v2"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
)

// Evaluate runs the filter, variance included, on a backend in the given type
// and form, and returns the results and, for a loss whose gradients with respect
// to the results are d, the gradients of all inputs that are present. A nil d
// asks for no gradients. Inputs that Reference refuses are refused here with the
// same error.
func Evaluate(be compute.Backend, dtype dtypes.DType, o Options, a *Arrays, d *Result) (*Result, *Arrays, error) {
	fn, ins := a.graph(o)
	return a.evaluate(be, dtype, fn, ins, d)
}

func (a *Arrays) evaluate(be compute.Backend, dtype dtypes.DType, fn func([]*Node) []*Node, ins []check.Array, d *Result) (*Result, *Arrays, error) {
	if err := a.Check(); err != nil {
		return nil, nil, err
	}
	var weights []check.Array
	if d != nil {
		for i, dims := range a.resultDims() {
			weights = append(weights, check.Array{Dims: dims, Values: d.list()[i]})
		}
	}
	outs, grads, err := check.Gradients(be, dtype, fn, ins, weights)
	if err != nil {
		return nil, nil, err
	}
	r := &Result{outs[0].Values, outs[1].Values, outs[2].Values, outs[3].Values}
	if grads == nil {
		return r, nil, nil
	}
	g := &Arrays{B: a.B, T: a.T, M: a.M, S: a.S}
	for i, to := range []*[]float64{&g.V, &g.Precision, &g.K, &g.Q, &g.A, &g.P, &g.Lambda, &g.Eta} {
		if a.list()[i] != nil {
			*to, grads = grads[0].Values, grads[1:]
		}
	}
	return r, g, nil
}

// graph returns the filter as a function of the arrays that are present, with
// y, y_var, λ and η as outputs.
func (a *Arrays) graph(o Options) (fn func([]*Node) []*Node, ins []check.Array) {
	BTM, BTS, MS, BMS := []int{a.B, a.T, a.M}, []int{a.B, a.T, a.S}, []int{a.M, a.S}, []int{a.B, a.M, a.S}
	for i, dims := range [][]int{BTM, BTM, BTS, BTS, MS, MS, BMS, BMS} {
		if x := a.list()[i]; x != nil {
			ins = append(ins, check.Array{Dims: dims, Values: x})
		}
	}
	o.Variance = true
	return func(x []*Node) []*Node {
		in := Inputs{V: x[0], Precision: x[1], K: x[2], Q: x[3], A: x[4], P: x[5]}
		x = x[6:]
		if a.Lambda != nil {
			in.State.Lambda, x = x[0], x[1:]
		}
		if a.Eta != nil {
			in.State.Eta = x[0]
		}
		out := Filter(in, o)
		return []*Node{out.Y, out.YVar, out.State.Lambda, out.State.Eta}
	}, ins
}

func (a *Arrays) resultDims() [][]int {
	BTM, BMS := []int{a.B, a.T, a.M}, []int{a.B, a.M, a.S}
	return [][]int{BTM, BTM, BMS, BMS}
}

func (a *Arrays) list() [][]float64 {
	return [][]float64{a.V, a.Precision, a.K, a.Q, a.A, a.P, a.Lambda, a.Eta}
}

func (r *Result) list() [][]float64 { return [][]float64{r.Y, r.YVar, r.Lambda, r.Eta} }

// Errors returns the largest relative errors of results and of gradients against
// those of a reference, and the names of the arrays that have them. What the
// reference lacks is left out.
func Errors(got, want *Result, grad, wantGrad *Arrays) (value, gradient float64, valueAt, gradientAt string) {
	value, valueAt = worst([]string{"y", "y_var", "lambda", "eta"}, got.list(), want.list())
	if grad != nil {
		gradient, gradientAt = worst([]string{"v", "precision", "k", "q", "a", "p", "lambda", "eta"}, grad.list(), wantGrad.list())
	}
	return
}

func worst(names []string, got, want [][]float64) (e float64, at string) {
	for i, name := range names {
		if want[i] == nil || got[i] == nil {
			continue
		}
		if x := check.RelErr(got[i], want[i]); x >= e {
			e, at = x, name
		}
	}
	return
}

// Random makes a problem: unit keys and queries, log-normal precisions, a in
// (0.5, 0.9), p in (0.02, 0.06), and an initial state if asked for.
func Random(rng *rand.Rand, B, T, M, S int, state bool) *Arrays {
	a := &Arrays{B: B, T: T, M: M, S: S}
	a.V = check.Random(rng, 1, B, T, M).Values
	a.K, a.Q = check.Random(rng, 1, B, T, S).Values, check.Random(rng, 1, B, T, S).Values
	for _, x := range [][]float64{a.K, a.Q} {
		for i := 0; i < len(x); i += S {
			n := 0.0
			for _, v := range x[i : i+S] {
				n += v * v
			}
			for j := range S {
				x[i+j] /= math.Sqrt(n)
			}
		}
	}
	positive := func(n int, scale float64) []float64 {
		x := check.Random(rng, scale, n).Values
		for i := range x {
			x[i] = math.Exp(x[i])
		}
		return x
	}
	a.Precision = positive(B*T*M, 1)
	for range M * S {
		a.A = append(a.A, 0.5+0.4*rng.Float64())
		a.P = append(a.P, 0.02+0.04*rng.Float64())
	}
	if state {
		a.Lambda, a.Eta = positive(B*M*S, 0.5), check.Random(rng, 1, B, M, S).Values
	}
	return a
}
