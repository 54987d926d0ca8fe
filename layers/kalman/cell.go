package kalman

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/scan"
)

// The names of a cell's arrays: tokens v, Λ [..,M], k, q [..,S], statics a, p
// and states [..,S,M], channels last.
const (
	vAt = iota
	precisionAt
	kAt
	qAt
)

// floor keeps a² from underflowing: a state without noise that forgets
// everything in one token would get an infinite precision.
const floor = 1e-12

// cell returns the filter as a recurrence. Its first array is λ:
//
//	c = a² + pλ        λ⁻ = λ/c        λ' = λ⁻ + φ,  φ = Λk²
//	λ' = ((1+pφ)λ + a²φ) / (pλ + a²)   the same as one map
func cell(o Options) *scan.Cell {
	precision := scan.Level{Map: scan.MoebiusMap, Leaf: func(_, _, x, w []*Node) []*Node {
		p, a2 := w[1], square(w[0])
		phi := scan.Outer(Mul(x[kAt], x[kAt]), x[precisionAt])
		return []*Node{Add(ConstAs(phi, 1), Mul(p, phi)), Mul(a2, phi), p, a2}
	}}
	c := &scan.Cell{Levels: []scan.Level{precision}}
	f := form(mean{})
	if o.Second == Information {
		f = information{}
	}
	c.Levels = append(c.Levels, scan.Level{Map: scan.AffineMap, Leaf: func(before, after, x, w []*Node) []*Node {
		return f.leaf(predict(before[0], w), after[0], x, w)
	}})
	c.Next = func(s, x, w []*Node) []*Node {
		r := predict(s[0], w)
		next := Add(r.lambda, scan.Outer(Mul(x[kAt], x[kAt]), x[precisionAt]))
		return []*Node{next, f.next(r, next, s[1], x, w)}
	}
	read := reader{o, f}
	c.Read, c.Seed = read.outputs, read.seed
	c.Pull = func(s, next, x, w, d []*Node) []*Node {
		n, m := f.inner(next, d)
		r := predict(s[0], w)
		return f.pull(r, s, w, n, m)
	}
	c.Learn = func(s, next, x, w, d, dy []*Node) []*Node {
		n, m := f.inner(next, d)
		return append(observed(x, n, m), read.query(next, x, w, dy))
	}
	c.Drift = func(s, next, x, w, d, dy []*Node) []*Node {
		n, m := f.inner(next, d)
		da, dp := drift(predict(s[0], w), f.mean(s), w, n, m)
		if o.Prior {
			daRead, dpRead := read.drift(next, x, w, dy)
			da, dp = Add(da, daRead), Add(dp, dpRead)
		}
		return []*Node{da, dp}
	}
	return c
}

// prediction is λ before the observation and what it is made of.
type prediction struct {
	c, lambda *Node // c = a² + pλ, λ⁻ = λ/c
	shrink    *Node // a/c
}

func predict(lambda *Node, w []*Node) prediction {
	c := Add(square(w[0]), Mul(w[1], lambda))
	return prediction{c, Div(lambda, c), Div(w[0], c)}
}

func square(a *Node) *Node { return Max(Mul(a, a), ConstAs(a, floor)) }

// observed returns the gradients of v, Λ and k from those of λ' (n) and of
// η' (m):
//
//	dv = Λ Σ_s mk      dΛ = Σ_s (nk² + mvk)      dk = 2k Σ_m nΛ + Σ_m mvΛ
func observed(x []*Node, n, m *Node) []*Node {
	v, precision, k := x[vAt], x[precisionAt], x[kAt]
	mk := scan.SumStates(m, k)
	return []*Node{
		Mul(precision, mk),
		Add(scan.SumStates(n, Mul(k, k)), Mul(v, mk)),
		scan.SumChannels(scan.Term{Scale: Add(k, k), X: n, Y: precision}, scan.Term{X: m, Y: Mul(v, precision)}),
	}
}

// drift returns the gradients of a and p, given the mean μ before: with
// η' = aλ⁻μ + r, λ⁻ gets g = n + aμm, and dλ⁻/da = -2aλ/c², dλ⁻/dp = -λ⁻².
func drift(r prediction, mean *Node, w []*Node, n, m *Node) (da, dp *Node) {
	mm := Mul(m, mean)
	g := Mul(Add(n, Mul(w[0], mm)), r.lambda)
	ga := Mul(g, r.shrink)
	return Sub(Mul(mm, r.lambda), Add(ga, ga)), Neg(Mul(g, r.lambda))
}
