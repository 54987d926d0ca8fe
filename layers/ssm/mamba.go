package ssm

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/kernels"
	"github.com/kalmarz/kalmarz/layers/scan"
)

// MambaInputs of the selective scan (arXiv 2312.00752), all of one dtype:
//
//	h_t = exp(Δ_t A) ∘ h_{t-1} + Δ_t B_t x_t        y_t = Σ_s C_t h_t
//
// A token whose step is 0 is padding.
type MambaInputs struct {
	X, Step *Node // [B,T,M]; the step Δ is positive
	A       *Node // [M,S], negative
	In, Out *Node // [B,T,S], B and C of the paper
	State   *Node // [B,M,S], or nil for zeros
}

// Mamba returns y [B,T,M] in the dtype of x and the state after the last token
// [B,M,S].
func Mamba(in MambaInputs, plan scan.Plan) (y, state *Node) {
	d := dims("mamba", in.X, in.In)
	d.check("step", in.Step, d.B, d.T, d.M)
	d.check("a", in.A, d.M, d.S)
	d.check("out", in.Out, d.B, d.T, d.S)
	x := []*Node{in.X, in.Step, in.In, in.Out}
	if y, state, ok := d.fused(kernels.NewMamba, plan, in.X, x, []*Node{in.A}, in.State); ok {
		return y, state
	}
	return d.run(mambaCell, plan, in.X, x, []*Node{TransposeAllAxes(grad.Wide(in.A), 1, 0)}, in.State)
}

// Tokens x, Δ [..,M], B, C [..,S]; static A and state h [..,S,M].
var mambaCell = func() *scan.Cell {
	decay := func(x, w []*Node) *Node { return Exp(Mul(scan.AllStates(x[1], w[0]), w[0])) }
	return &scan.Cell{
		Levels: []scan.Level{{Map: scan.AffineMap, Leaf: func(_, _, x, w []*Node) []*Node {
			return []*Node{decay(x, w), scan.Outer(x[2], Mul(x[1], x[0]))}
		}}},
		Read: read,
		Seed: seed,
		Pull: func(_, _, x, w, d []*Node) []*Node { return []*Node{Mul(decay(x, w), d[0])} },
		Learn: func(s, next, x, w, d, dy []*Node) []*Node {
			written := scan.SumStates(d[0], x[2]) // gradient of Δx
			g := Mul(Mul(d[0], s[0]), decay(x, w))
			return []*Node{
				Mul(x[1], written),
				Add(Mul(x[0], written), scan.SumStates(Mul(g, w[0]), nil)),
				scan.SumChannels(scan.Term{X: d[0], Y: Mul(x[1], x[0])}),
				scan.SumChannels(scan.Term{X: next[0], Y: dy[0]}),
			}
		},
		Drift: func(s, _, x, w, d, _ []*Node) []*Node {
			g := Mul(Mul(d[0], s[0]), decay(x, w))
			return []*Node{Mul(g, scan.AllStates(x[1], g))}
		},
	}
}()

// read returns y = Σ_s C h, where C is the last token array.
func read(next, x, _ []*Node) []*Node {
	return []*Node{scan.SumStates(next[0], x[len(x)-1])}
}

func seed(_, x, _, dy []*Node) []*Node { return []*Node{scan.Outer(x[len(x)-1], dy[0])} }
