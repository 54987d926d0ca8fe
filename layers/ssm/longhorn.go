package ssm

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/kernels"
	"github.com/kalmarz/kalmarz/layers/scan"
)

// LonghornInputs of the diagonal form of Longhorn (arXiv 2407.14207), one
// implicit step of online regression of x on k, all of one dtype:
//
//	D_t = s_t / (1 + s_t |k_t|²)
//	h_t = (1 - D_t k_t²) ∘ h_{t-1} + D_t k_t x_t     y_t = Σ_s q_t h_t
//
// A token whose step is 0 is padding.
type LonghornInputs struct {
	X, Step *Node // [B,T,M]; the step s is in (0, 1)
	K, Q    *Node // [B,T,S]
	State   *Node // [B,M,S], or nil for zeros
}

// Longhorn returns y [B,T,M] in the dtype of x and the state after the last
// token [B,M,S].
func Longhorn(in LonghornInputs, plan scan.Plan) (y, state *Node) {
	d := dims("longhorn", in.X, in.K)
	d.check("step", in.Step, d.B, d.T, d.M)
	d.check("q", in.Q, d.B, d.T, d.S)
	s := grad.Wide(in.Step)
	rate := Div(s, AddScalar(Mul(s, grad.SumSquares(in.K)), 1))
	x := []*Node{in.X, rate, in.K, in.Q}
	if y, state, ok := d.fused(kernels.NewLonghorn, plan, in.X, x, nil, in.State); ok {
		return y, state
	}
	return d.run(longhornCell, plan, in.X, x, nil, in.State)
}

// Tokens x, D [..,M], k, q [..,S]; state h [..,S,M].
var longhornCell = func() *scan.Cell {
	decay := func(x []*Node) *Node {
		erased := scan.Outer(Mul(x[2], x[2]), x[1])
		return Sub(ConstAs(erased, 1), erased)
	}
	return &scan.Cell{
		Levels: []scan.Level{{Map: scan.AffineMap, Leaf: func(_, _, x, _ []*Node) []*Node {
			return []*Node{decay(x), scan.Outer(x[2], Mul(x[1], x[0]))}
		}}},
		Read: read,
		Seed: seed,
		Pull: func(_, _, x, _, d []*Node) []*Node { return []*Node{Mul(decay(x), d[0])} },
		Learn: func(s, next, x, _, d, dy []*Node) []*Node {
			k := x[2]
			written := scan.SumStates(d[0], k) // gradient of Dx
			forgot := Mul(d[0], s[0])          // gradient of the decay
			return []*Node{
				Mul(x[1], written),
				Sub(Mul(x[0], written), scan.SumStates(forgot, Mul(k, k))),
				scan.SumChannels(scan.Term{X: d[0], Y: Mul(x[1], x[0])}, scan.Term{Scale: Neg(Add(k, k)), X: forgot, Y: x[1]}),
				scan.SumChannels(scan.Term{X: next[0], Y: dy[0]}),
			}
		},
	}
}()
