package kalman

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/scan"
)

// form is the second array of the state. In its gradients n and m stand for
// the gradients of λ' and of η' when these two are taken as independent.
type form interface {
	// leaf returns the affine map of the array.
	leaf(r prediction, next *Node, x, w []*Node) []*Node
	// next returns the array after the token.
	next(r prediction, next, s *Node, x, w []*Node) *Node
	// mean returns η/λ, and scaled what makes a gradient of the mean one of the
	// array (with its share in that of λ).
	mean(s []*Node) *Node
	scaled(s []*Node, dmean, dvar *Node) []*Node
	// inner returns n and m from the gradients of the state.
	inner(next, d []*Node) (n, m *Node)
	// pull returns the gradients of the state before; m may be nil.
	pull(r prediction, s, w []*Node, n, m *Node) []*Node
}

// observation returns r = vΛk.
func observation(x []*Node) *Node { return scan.Outer(x[kAt], Mul(x[vAt], x[precisionAt])) }

// mean carries μ = η/λ:
//
//	μ' = (aλ⁻ μ + vΛk) / λ'
//
// a contraction: its factor a(1 - φ/λ') is at most a.
type mean struct{}

func (mean) leaf(r prediction, next *Node, x, w []*Node) []*Node {
	return []*Node{
		Div(Mul(w[0], r.lambda), next),
		Div(observation(x), next),
	}
}

func (mean) next(r prediction, next, s *Node, x, w []*Node) *Node {
	eta := Add(Mul(Mul(w[0], r.lambda), s), observation(x))
	return Div(eta, next)
}

func (mean) mean(s []*Node) *Node { return s[1] }

// μ = η/λ: dη = dμ/λ, and λ gets -dμ μ/λ.
func (mean) inner(next, d []*Node) (n, m *Node) {
	if d[1] == nil {
		return d[0], nil
	}
	m = Div(d[1], next[0])
	return Sub(d[0], Mul(m, next[1])), m
}

func (mean) scaled(s []*Node, dmean, dvar *Node) []*Node {
	if dvar == nil {
		return []*Node{nil, dmean}
	}
	return []*Node{Neg(Div(dvar, Mul(s[0], s[0]))), dmean}
}

// η' = aλ⁻μ + r: dμ = aλ⁻ m, and λ⁻ gets n + aμm.
func (mean) pull(r prediction, s, w []*Node, n, m *Node) []*Node {
	a := w[0]
	slope := Mul(r.shrink, r.shrink) // a²/c², the derivative of λ⁻
	if m == nil {
		return []*Node{Mul(n, slope), nil}
	}
	am := Mul(a, m)
	return []*Node{Mul(Add(n, Mul(am, s[1])), slope), Mul(am, r.lambda)}
}

// information carries η, as the filter's equations are written:
//
//	η' = (a/c) η + vΛk
//
// Without process noise a/c is 1/a > 1 and η grows without bound.
type information struct{}

func (information) leaf(r prediction, _ *Node, x, _ []*Node) []*Node {
	return []*Node{r.shrink, observation(x)}
}

func (f information) next(r prediction, next, s *Node, x, w []*Node) *Node {
	return Add(Mul(r.shrink, s), observation(x))
}

func (information) mean(s []*Node) *Node { return Div(s[1], s[0]) }

func (information) inner(_, d []*Node) (n, m *Node) { return d[0], d[1] }

func (information) scaled(s []*Node, dmean, dvar *Node) []*Node {
	i := Div(ConstAs(s[0], 1), s[0])
	m := Mul(dmean, i)
	n := Mul(m, s[1])
	if dvar != nil {
		n = Add(n, Mul(dvar, i))
	}
	return []*Node{Neg(Mul(n, i)), m}
}

// η' = (a/c) η + r: dη = (a/c) m; a/c itself falls with λ by ap/c².
func (information) pull(r prediction, s, w []*Node, n, m *Node) []*Node {
	slope := Mul(r.shrink, r.shrink)
	if m == nil {
		return []*Node{Mul(n, slope), nil}
	}
	back := Mul(r.shrink, m)
	gain := Div(Mul(Mul(back, s[1]), w[1]), r.c)
	return []*Node{Sub(Mul(n, slope), gain), back}
}
