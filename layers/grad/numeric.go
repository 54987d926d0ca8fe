package grad

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Wide returns x in the type in which norms, decays and solves are computed:
// float64 stays, anything narrower becomes float32.
func Wide(x *Node) *Node {
	if x.DType() == dtypes.Float64 {
		return x
	}
	return ConvertDType(x, dtypes.Float32)
}

// SoftPlus returns ln(1 + eˣ) without overflow; its gradient is the sigmoid,
// also where the function itself underflows to 0.
func SoftPlus(x *Node) *Node {
	return Custom([]*Node{x}, func(x []*Node) []*Node {
		return []*Node{Add(MaxScalar(x[0], 0), Log1P(Exp(Neg(Abs(x[0])))))}
	}, func(x, _, d []*Node) []*Node {
		return []*Node{Mul(d[0], Sigmoid(x[0]))}
	})[0]
}

// LogSigmoid returns ln σ(x) = -softplus(-x).
func LogSigmoid(x *Node) *Node { return Neg(SoftPlus(Neg(x))) }

// SiLU returns x σ(x).
func SiLU(x *Node) *Node { return Mul(x, Sigmoid(x)) }

// L2 divides x by sqrt(Σx² + eps) over its last axis, in float32 or wider; at
// x = 0 the value is 0 and the gradient 1/sqrt(eps).
func L2(x *Node, eps float64) *Node {
	w := Wide(x)
	return ConvertDType(Div(w, Sqrt(AddScalar(SumSquares(w), eps))), x.DType())
}

// SumSquares returns Σx² over the last axis, kept as an axis of length 1, in
// float32 or wider.
func SumSquares(x *Node) *Node {
	return ReduceAndKeep(Square(Wide(x)), ReduceSum, -1)
}

// RMSNorm returns x / sqrt(mean x² + eps) over the last axis, times the weight
// (of the last axis's length) unless it is nil; reduced in float32 or wider.
func RMSNorm(x, weight *Node, eps float64) *Node {
	w := Wide(x)
	y := Div(w, Sqrt(AddScalar(ReduceAndKeep(Square(w), ReduceMean, -1), eps)))
	if weight != nil {
		y = Mul(y, ExpandLeftToRank(Wide(weight), y.Rank()))
	}
	return ConvertDType(y, x.DType())
}

// PadTo appends zeros to an axis until it has length n.
func PadTo(x *Node, axis, n int) *Node {
	missing := n - x.Shape().Dim(axis)
	if missing == 0 {
		return x
	}
	shape := x.Shape().Clone()
	shape.Dimensions[axis] = missing
	return Concatenate([]*Node{x, Zeros(x.Graph(), shape)}, axis)
}
