package mixer

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/grad"
)

// deltaRule returns the inputs of the gated delta rule: e = βk, z = βv, with
// q, k, v [B,T,H,·] and beta [B,T,H].
func deltaRule(q, k, v, beta, logDecay *Node) delta.Inputs {
	b := PerHead(beta)
	return delta.Inputs{Q: Scale(q), K: k, Erase: Mul(b, k), Write: Mul(b, v), LogDecay: logDecay}
}

// correct runs deltaRule.
func (c *Context) correct(q, k, v, beta, logDecay *Node) *Node {
	return c.recur(deltaRule(q, k, v, beta, logDecay), beta, nil)
}

// freeKeys is deltaRule for keys of any norm. Dividing k by some s > 0 and
// multiplying e and z by it changes neither S nor o; with s = ‖k‖ the solve
// within a chunk sees cosines instead of ratios of norms, which may be huge.
// s is held constant in the gradient, since nothing depends on it, and is kept
// away from 0, so that k = 0 writes nothing and has finite gradients.
//
// The written value u comes out scaled by s: multiply it by 1/s, returned as
// undo [B,T,H,1].
func freeKeys(q, k, v, beta, logDecay *Node) (in delta.Inputs, undo *Node) {
	const tiny = 1e-24 // of ‖k‖²
	s := StopGradient(Sqrt(AddScalar(grad.SumSquares(k), tiny)))
	undo = Reciprocal(s)
	b := Mul(PerHead(grad.Wide(beta)), s)
	dtype := k.DType()
	narrow := func(x *Node) *Node { return ConvertDType(x, dtype) }
	k, v = grad.Wide(k), grad.Wide(v)
	return delta.Inputs{
		Q: Scale(q), K: narrow(Mul(k, undo)), Erase: narrow(Mul(b, k)), Write: narrow(Mul(b, v)), LogDecay: logDecay,
	}, undo
}
