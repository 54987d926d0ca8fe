package delta

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
)

// unitInverse returns (I+T)⁻¹ for strictly lower triangular T [n,C,C].
//
// Its gradient needs A = (I+T)⁻¹ alone: dT = -Aᵀ dA Aᵀ below the diagonal.
func unitInverse(t *Node) *Node {
	return grad.Custom([]*Node{t}, func(x []*Node) []*Node {
		return []*Node{substitute(x[0])}
	}, func(_, y, d []*Node) []*Node {
		return []*Node{Neg(lower(grad.NT.Of(grad.TN.Of(y[0], d[0]), y[0]), -1))}
	})[0]
}

// substitute is unitInverse without a gradient: block substitution. Down to
// blocks of 16 rows the halves are inverted as one batch; below, where products
// of blocks would be tiny, the inverses A of all diagonal blocks of b rows give
// those of 2b rows as A - A (T∘M) A, with M the lower left b x b part of each.
func substitute(t *Node) *Node {
	n, C := t.Shape().Dim(0), t.Shape().Dim(2)
	if C > 16 {
		b := C / 2
		block := func(r, c int) *Node { return Slice(t, AxisRange(), AxisRange(r*b, r*b+b), AxisRange(c*b, c*b+b)) }
		a := substitute(Concatenate([]*Node{block(0, 0), block(1, 1)}, 0))
		a1, a2 := SliceAxis(a, 0, AxisRange(0, n)), SliceAxis(a, 0, AxisRange(n, 2*n))
		t21 := block(1, 0)
		return lowerBlocks(a1, Neg(grad.NN.Of(grad.NN.Of(a2, t21), a1)), a2)
	}
	a := Sub(pattern(t, func(r, s int) bool { return r == s }), Mul(t, corners(t, 1)))
	for b := 2; b < C; b *= 2 {
		a = Sub(a, grad.NN.Of(grad.NN.Of(a, Mul(t, corners(t, b))), a))
	}
	return a
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
