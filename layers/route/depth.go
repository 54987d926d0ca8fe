package route

// Attention over depth: several arrays [B,T,H,V], one a layer, are weighted per
// token and head by a learned query that starts at 0.

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/param"
)

// scores are q·x_j/rms(x_j) per token and head, [n,B,T,H].
func scores(at Site, xs []*Node) *Node {
	H, V := xs[0].Shape().Dim(2), xs[0].Shape().Dim(3)
	q := Reshape(grad.Wide(at.Get("query", param.Vector, param.Constant(0), H, V)), 1, 1, H, V)
	var all []*Node
	for _, x := range xs {
		all = append(all, ReduceSum(Mul(q, grad.RMSNorm(grad.Wide(x), nil, epsilon)), -1))
	}
	return Stack(all, 0)
}

// weighted is Σ_j a_j x_j for weights a [n,B,T,H].
func weighted(a *Node, xs []*Node) *Node {
	var all []*Node
	for j, x := range xs {
		all = append(all, Mul(ConvertDType(InsertAxes(Squeeze(SliceAxis(a, 0, AxisElem(j)), 0), -1), x.DType()), x))
	}
	return sum(all)
}

func sum(xs []*Node) *Node {
	y := xs[0]
	for _, x := range xs[1:] {
		y = Add(y, x)
	}
	return y
}
