package mixer

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/grad"
)

// observe offers what the delta rule does at each token and head, [B,T,H], given
// its written values u: "write", the norm ‖k‖‖u‖ of what is added to the state;
// "beta_k2", the fraction e·k = β‖k‖² of the way to the value that one write goes;
// "residual", the norm ‖u‖/β of the error v - S̃ᵀk; "decay", its mean over
// channels. undo is that of freeKeys, or nil.
func (c *Context) observe(in delta.Inputs, u, undo *Node) {
	if c.Offer == nil {
		return
	}
	in = in.Unrated()
	norm := func(x *Node) *Node { return Squeeze(Sqrt(grad.SumSquares(x)), -1) }
	size, keys := norm(u), norm(in.K)
	c.Offer("write", Mul(size, keys))
	if in.Erase != nil {
		k, e := grad.Wide(in.K), grad.Wide(in.Erase)
		fraction := ReduceSum(Mul(e, k), -1)
		c.Offer("beta_k2", fraction)
		// With keys k/s and values su the residual is ‖su‖ s ‖k/s‖² / e·k.
		residual := Mul(size, Square(keys))
		if undo != nil {
			residual = Div(residual, Squeeze(undo, -1))
		}
		none := Equal(fraction, ZerosLike(fraction))
		c.Offer("residual", Where(none, ZerosLike(residual), Div(residual, Where(none, OnesLike(fraction), fraction))))
	}
	if in.LogDecay != nil {
		alpha := Exp(grad.Wide(in.LogDecay))
		if alpha.Rank() == 4 {
			alpha = ReduceMean(alpha, -1)
		}
		c.Offer("decay", alpha)
	}
}
