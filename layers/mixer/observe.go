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
	norm := func(x *Node) *Node { return Squeeze(Sqrt(grad.SumSquares(x)), -1) }
	c.offer("write", func() *Node { return Mul(norm(u), norm(in.K)) })
	if in.Erase != nil {
		fraction := func() *Node { return ReduceSum(Mul(grad.Wide(in.Unrated().Erase), grad.Wide(in.K)), -1) }
		c.offer("beta_k2", fraction)
		c.offer("residual", func() *Node {
			// With keys k/s and values su the residual is ‖su‖ s ‖k/s‖² / e·k.
			residual := Mul(norm(u), Square(norm(in.K)))
			if undo != nil {
				residual = Div(residual, Squeeze(undo, -1))
			}
			return ratio(residual, fraction())
		})
	}
	if in.LogDecay != nil {
		c.offer("decay", func() *Node {
			alpha := Exp(grad.Wide(in.LogDecay))
			if alpha.Rank() == 4 {
				alpha = ReduceMean(alpha, -1)
			}
			return alpha
		})
	}
}

// offerError offers what a delta rule writes, u [B,T,H,V], at its own scale, and
// the bare error r = v - S̃ᵀk = u/β, 0 where β = 0 lets nothing be known of it.
func (c *Context) offerError(in delta.Inputs, u, beta, undo *Node) {
	if in.Erase == nil {
		return
	}
	written := func() *Node {
		if undo == nil {
			return u
		}
		return ConvertDType(Mul(grad.Wide(u), undo), u.DType())
	}
	c.offer("u", written)
	if beta != nil {
		c.offer("r", func() *Node {
			x := grad.Wide(written())
			return ConvertDType(ratio(x, BroadcastToShape(PerHead(grad.Wide(beta)), x.Shape())), u.DType())
		})
	}
}

// ratio is x/y, and 0 where y is 0.
func ratio(x, y *Node) *Node {
	none := Equal(y, ZerosLike(y))
	return Where(none, ZerosLike(x), Div(x, Where(none, OnesLike(y), y)))
}
