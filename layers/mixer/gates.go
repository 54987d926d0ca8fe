package mixer

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/grad"
)

// deltaRule returns the inputs of the gated delta rule: e = k at the rate β, with
// q, k, v [B,T,H,·] and beta [B,T,H].
func deltaRule(q, k, v, beta, logDecay *Node) delta.Inputs {
	return delta.Inputs{Q: Scale(q), K: k, Erase: k, Write: v, Rate: beta, LogDecay: logDecay}
}

// correct runs deltaRule.
func (c *Context) correct(q, k, v, beta, logDecay *Node) *Node {
	return c.recur(deltaRule(q, k, v, beta, logDecay), beta, nil)
}

// freeKeys is deltaRule for keys of any norm. To divide k and v by some s > 0 and
// multiply the rate by s² changes neither S nor o; with s = ‖k‖ the solve within a
// chunk sees cosines instead of ratios of norms, which may be huge. s is held
// constant in the gradient, since nothing depends on it, and is kept away from 0,
// so that k = 0 writes nothing and has finite gradients.
//
// The written value u comes out scaled by s: multiply it by 1/s, returned as
// undo [B,T,H,1].
func freeKeys(q, k, v, beta, logDecay *Node) (in delta.Inputs, undo *Node) {
	const tiny = 1e-24 // of ‖k‖²
	s2 := StopGradient(AddScalar(grad.SumSquares(k), tiny))
	undo = Reciprocal(Sqrt(s2))
	less := func(x *Node) *Node { return ConvertDType(Mul(grad.Wide(x), undo), x.DType()) }
	return deltaRule(q, less(k), less(v), Mul(grad.Wide(beta), Squeeze(s2, -1)), logDecay), undo
}
