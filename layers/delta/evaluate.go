package delta

import (
	"math/rand/v2"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"github.com/kalmarz/kalmarz/layers/check"
)

// Evaluate runs the recurrence on a backend in the given type and form, and
// returns the results and, for a loss whose gradients with respect to the
// results are d, the gradients of all inputs. A nil d asks for no gradients.
// Inputs that Reference refuses are refused here with the same error.
func Evaluate(be compute.Backend, dtype dtypes.DType, form Form, a *Arrays, d *Result) (*Result, *Arrays, error) {
	if err := a.Check(); err != nil {
		return nil, nil, err
	}
	decayDims := []int{a.B, a.T, a.H}
	if len(a.LogDecay) > a.B*a.T*a.H {
		decayDims = append(decayDims, a.K)
	}
	g := &Arrays{B: a.B, T: a.T, H: a.H, K: a.K, V: a.V}
	slots := []struct {
		values []float64
		dims   []int
		grad   *[]float64
	}{
		{a.Q, []int{a.B, a.T, a.H, a.K}, &g.Q},
		{a.Key, []int{a.B, a.T, a.H, a.K}, &g.Key},
		{a.Write, []int{a.B, a.T, a.H, a.V}, &g.Write},
		{a.Erase, []int{a.B, a.T, a.H, a.K}, &g.Erase},
		{a.Rate, []int{a.B, a.T, a.H}, &g.Rate},
		{a.LogDecay, decayDims, &g.LogDecay},
		{a.State, []int{a.B, a.H, a.K, a.V}, &g.State},
	}
	if a.shared() {
		slots[3].values = nil
	}
	var ins []check.Array
	for _, s := range slots {
		if s.values != nil {
			ins = append(ins, check.Array{Dims: s.dims, Values: s.values})
		}
	}
	var weights []check.Array
	if d != nil {
		out := []int{a.B, a.T, a.H, a.V}
		weights = []check.Array{{Dims: out, Values: d.O}, {Dims: []int{a.B, a.H, a.K, a.V}, Values: d.State}, {Dims: out, Values: d.U}}
	}
	outs, grads, err := check.Gradients(be, dtype, func(x []*Node) []*Node {
		nodes, next := make([]*Node, len(slots)), 0
		for i, s := range slots {
			if s.values != nil {
				nodes[i] = x[next]
				next++
			}
		}
		if a.shared() {
			nodes[3] = nodes[1]
		}
		o := Run(Inputs{Q: nodes[0], K: nodes[1], Write: nodes[2], Erase: nodes[3], Rate: nodes[4], LogDecay: nodes[5], State: nodes[6]}, form)
		return []*Node{o.O, o.State, o.U}
	}, ins, weights)
	if err != nil {
		return nil, nil, err
	}
	r := &Result{O: outs[0].Values, State: outs[1].Values, U: outs[2].Values}
	if grads == nil {
		return r, nil, nil
	}
	for _, s := range slots {
		if s.values != nil {
			*s.grad, grads = grads[0].Values, grads[1:]
		}
	}
	return r, g, nil
}

// Errors returns the largest relative errors of results and of gradients
// against those of a reference, and the names of the arrays that have them.
func Errors(got, want *Result, grad, wantGrad *Arrays) (value, gradient float64, valueAt, gradientAt string) {
	for _, x := range []struct {
		name      string
		got, want []float64
	}{{"o", got.O, want.O}, {"state", got.State, want.State}, {"u", got.U, want.U}} {
		if e := check.RelErr(x.got, x.want); e >= value {
			value, valueAt = e, x.name
		}
	}
	if grad == nil {
		return
	}
	for _, x := range []struct {
		name      string
		got, want []float64
	}{
		{"q", grad.Q, wantGrad.Q}, {"k", grad.Key, wantGrad.Key}, {"erase", grad.Erase, wantGrad.Erase},
		{"write", grad.Write, wantGrad.Write}, {"rate", grad.Rate, wantGrad.Rate}, {"log-decay", grad.LogDecay, wantGrad.LogDecay}, {"state", grad.State, wantGrad.State},
	} {
		if x.got == nil {
			continue
		}
		if e := check.RelErr(x.got, x.want); e >= gradient {
			gradient, gradientAt = e, x.name
		}
	}
	return
}

// Random makes a problem with unit keys, e = βk and a random initial state;
// log-decays, 0, 1 or K of them a token, are uniform in [-strength, 0].
func Random(rng *rand.Rand, B, T, H, K, V, decays int, strength float64, erase bool) *Arrays {
	n := B * T * H
	a := &Arrays{B: B, T: T, H: H, K: K, V: V,
		Q: check.Random(rng, 1/float64(K), n, K).Values, Key: check.Random(rng, 1, n, K).Values,
		Write: check.Random(rng, 1, n, V).Values, State: check.Random(rng, 1, B*H, K*V).Values}
	if erase {
		a.Erase = make([]float64, n*K)
	}
	for i := range n {
		k := a.Key[i*K : i*K+K]
		norm := floats.Norm(k, 2)
		beta := rng.Float64()
		for j := range k {
			k[j] /= norm
			if erase {
				a.Erase[i*K+j] = beta * k[j]
			}
		}
	}
	for range n * decays {
		a.LogDecay = append(a.LogDecay, -strength*rng.Float64())
	}
	return a
}

// ByRate makes the keys erase, too, and writes what is left at random rates.
func (a *Arrays) ByRate(rng *rand.Rand) *Arrays {
	a.Erase, a.Rate = a.Key, make([]float64, a.B*a.T*a.H)
	for i := range a.Rate {
		a.Rate[i] = rng.Float64()
	}
	return a
}
