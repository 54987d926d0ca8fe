package delta

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
)

// unitInverse returns (I+T)⁻¹ for strictly lower triangular T [n,C,C].
//
// The inverses A of all diagonal blocks of b rows give those of 2b rows as
// A - A (T∘M) A, where M keeps the lower left b x b part of each 2b block: block
// substitution, written with products of whole matrices because few large
// products are faster than many small ones. Its gradient needs A alone:
// dT = -Aᵀ dA Aᵀ below the diagonal.
func unitInverse(t *Node) *Node {
	C := t.Shape().Dim(2)
	return grad.Custom([]*Node{t}, func(x []*Node) []*Node {
		t := x[0]
		a := Sub(pattern(t, func(r, s int) bool { return r == s }), Mul(t, corners(t, 1)))
		for b := 2; b < C; b *= 2 {
			a = Sub(a, grad.NN.Of(grad.NN.Of(a, Mul(t, corners(t, b))), a))
		}
		return []*Node{a}
	}, func(_, y, d []*Node) []*Node {
		return []*Node{Neg(lower(grad.NT.Of(grad.TN.Of(y[0], d[0]), y[0]), -1))}
	})[0]
}

// corners is 1 in the lower left b x b part of each diagonal block of 2b rows.
func corners(like *Node, b int) *Node {
	return pattern(like, func(r, s int) bool { return r/(2*b) == s/(2*b) && r/b%2 == 1 && s/b%2 == 0 })
}

// lower keeps the entries with s <= r + k of x [n,C,C] and clears the rest.
func lower(x *Node, k int) *Node {
	return Mul(x, pattern(x, func(r, s int) bool { return s <= r+k }))
}

// pattern returns the C x C matrix of ones and zeros with ones where keep
// says, as [1,C,C] in the dtype of like [n,C,C].
func pattern(like *Node, keep func(r, s int) bool) *Node {
	C := like.Shape().Dim(2)
	m := make([][][]float64, 1)
	for r := range C {
		m[0] = append(m[0], make([]float64, C))
		for s := range C {
			if keep(r, s) {
				m[0][r][s] = 1
			}
		}
	}
	return ConvertDType(ConstAsDType(like.Graph(), dtypes.Float64, m), like.DType())
}
