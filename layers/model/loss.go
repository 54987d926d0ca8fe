package model

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
)

// Loss is the mean cross-entropy in nats over scored positions: logits
// [B,T,V], targets [B,T] ids, mask [B,T] with 1 at scored positions. It is 0 if
// nothing is scored.
func Loss(logits, targets, mask *Node) *Node {
	mask = ConvertDType(mask, grad.Wide(logits).DType())
	return LossOf(logits, targets, mask, MaxScalar(ReduceAllSum(mask), 1))
}

// LossOf is the cross-entropy summed over scored positions and divided by
// scored, a scalar: a part of the Loss of a batch with so many.
func LossOf(logits, targets, mask, scored *Node) *Node {
	nll := NLL(logits, targets)
	mask, scored = ConvertDType(mask, nll.DType()), ConvertDType(scored, nll.DType())
	return Div(ReduceAllSum(Mul(mask, nll)), scored)
}

// NLL is -ln p of each position's target [B,T], in float32 or wider.
func NLL(logits, targets *Node) *Node {
	logits = grad.Wide(logits)
	top := StopGradient(ReduceAndKeep(logits, ReduceMax, -1))
	shifted := Sub(logits, top)
	logSum := Log(ReduceSum(Exp(shifted), -1))
	own := Equal(Iota(logits.Graph(), shapeOf(dtypes.Int32, logits), -1), InsertAxes(targets, -1))
	picked := ReduceSum(Where(own, shifted, ZerosLike(shifted)), -1)
	return Sub(logSum, picked)
}

// Predict returns the likeliest class at each position [B,T].
func Predict(logits *Node) *Node { return ArgMax(logits, -1, dtypes.Int32) }

func shapeOf(dtype dtypes.DType, x *Node) shapes.Shape {
	return shapes.Make(dtype, x.Shape().Dimensions...)
}
