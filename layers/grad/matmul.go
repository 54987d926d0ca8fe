package grad

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// GoMLX's pure-Go backend multiplies batches of small matrices 20 to 30 times
// faster in the layout [n,m,k] x [n,k,p] than in any transposed one, so there
// the products below transpose explicitly, in the forward and in the backward
// pass. A compiler such as XLA's chooses layouts itself: there they are plain
// dot products.

// BMM returns a b for batches a [n,m,k], b [n,k,p]: [n,m,p].
func BMM(a, b *Node) *Node { return product(NN, a, b) }

// BMMNT returns a bᵀ for batches a [n,m,k], b [n,p,k]: [n,m,p].
func BMMNT(a, b *Node) *Node { return product(NT, a, b) }

// BMMTN returns aᵀ b for batches a [n,k,m], b [n,k,p]: [n,m,p].
func BMMTN(a, b *Node) *Node { return product(TN, a, b) }

// Layout names the transposition in a product of batches of matrices.
type Layout uint8

// a b, a bᵀ and aᵀ b.
const (
	NN Layout = iota
	NT
	TN
)

// Of multiplies without a gradient of its own, for use inside Custom.
func (l Layout) Of(a, b *Node) *Node {
	if PureGo(a.Graph()) {
		switch l {
		case NT:
			b = swap(b)
		case TN:
			a = swap(a)
		}
		l = NN
	}
	ca, cb := 2, 1
	switch l {
	case NT:
		cb = 2
	case TN:
		ca = 1
	}
	return DotGeneral(a, []int{ca}, []int{0}, b, []int{cb}, []int{0})
}

func product(l Layout, a, b *Node) *Node {
	if !PureGo(a.Graph()) {
		return l.Of(a, b)
	}
	return Custom([]*Node{a, b}, func(x []*Node) []*Node {
		return []*Node{l.Of(x[0], x[1])}
	}, func(x, _, d []*Node) []*Node {
		a, b, dy := x[0], x[1], d[0]
		switch l {
		case NT:
			return []*Node{NN.Of(dy, b), TN.Of(dy, a)}
		case TN:
			return []*Node{NT.Of(b, dy), NN.Of(a, dy)}
		}
		return []*Node{NT.Of(dy, b), TN.Of(a, dy)}
	})[0]
}

// Project returns x w for x [...,d], w [d,e]: [...,e].
func Project(x, w *Node) *Node {
	dims := x.Shape().Dimensions
	d, e := dims[len(dims)-1], w.Shape().Dim(-1)
	y := BMM(Reshape(x, 1, -1, d), Reshape(w, 1, d, e))
	return Reshape(y, append(append([]int{}, dims[:len(dims)-1]...), e)...)
}

func swap(x *Node) *Node { return TransposeAllAxes(x, 0, 2, 1) }

// PureGo tells whether a graph is built for GoMLX's pure-Go backend.
func PureGo(g *Graph) bool { return g.Backend().Name() == "Go Backend" }

// ProductFLOPs counts the matrix products of a graph, two operations for each
// multiplication and addition. All products must be batches of matrices.
func ProductFLOPs(g *Graph) float64 {
	sum := 0.0
	for _, n := range g.Nodes() {
		if n.Type() == NodeTypeDotGeneral {
			out := n.Shape()
			inner := n.Inputs()[0].Shape().Size() / (out.Dim(0) * out.Dim(1))
			sum += 2 * float64(out.Size()) * float64(inner)
		}
	}
	return sum
}
