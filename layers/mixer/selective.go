package mixer

// The block that Mamba (arXiv 2312.00752) and Longhorn (arXiv 2407.14207) share:
//
//	[x, z] = W_in h    x = silu(conv(x))    [r, B, C] = W_x x
//	h' = W_out ((y + D x) ∘ silu(z))
//
// where y is what the recurrence makes of x [B,T,M], the step logit W_dt r + b
// [B,T,M], B and C [B,T,S].

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
	"github.com/kalmarz/kalmarz/layers/param"
)

func selectiveOptions() option.Set {
	return option.Set{
		{Name: "expand", Kind: option.Float, Default: 2.0, Range: [2]float64{1.0 / 64, 64}, Help: "channels / model width"},
		{Name: "d_state", Kind: option.Int, Default: 16, Range: [2]float64{1, 4096}, Help: "states a channel"},
		{Name: "dt_rank", Kind: option.Int, Default: 0, Range: [2]float64{0, 1 << 20}, Help: "rank of the step's projection; 0 = ⌈width/16⌉"},
		{Name: "conv", Kind: option.Int, Default: 4, Range: [2]float64{2, 64}, Help: "width of the short convolution"},
	}
}

type selective struct{ d, M, S, rank, conv int }

func newSelective(d int, o option.Values) (s selective, err error) {
	s = selective{d: d, S: o.Int("d_state"), rank: o.Int("dt_rank"), conv: o.Int("conv")}
	if s.rank == 0 {
		s.rank = (d + 15) / 16
	}
	s.M, err = innerWidth(d, o.Float("expand"))
	return s, err
}

// Value is the shape of the written value.
func (s selective) Value() (heads, width int) { return 1, s.M }

func (s selective) Slots(int) []Slot {
	return append(convSlot("conv", s.conv, s.M), Slot{Name: "state", Dims: []int{s.M, s.S}})
}

// apply runs the block around a recurrence from the carried state; bias
// initialises that of the step.
func (s selective) apply(c *Context, h *Node, bias param.Init, recurrence func(x, step, in, out, state *Node) (y, last *Node)) *Node {
	parts := grad.Cut(c.Linear("in_proj", h, 2*s.M, false), 2, s.M, s.M)
	x, z := c.Conv("conv", parts[0], s.conv, true), parts[1]
	parts = grad.Cut(c.Linear("x_proj", x, s.rank+2*s.S, false), 2, s.rank, s.S, s.S)
	dt := c.In("dt_proj")
	step := grad.Project(parts[0], ConvertDType(dt.Get("weight", param.Matrix, param.Torch(s.rank), s.rank, s.M), x.DType()))
	step = Add(grad.Wide(step), Reshape(grad.Wide(dt.Get("bias", param.Vector, bias, s.M)), 1, 1, s.M))

	y, last := recurrence(grad.Wide(c.channels(x)), step, grad.Wide(parts[1]), grad.Wide(parts[2]), c.Carried("state"))
	c.Keep("state", last)
	y = Add(ConvertDType(y, x.DType()), Mul(x, c.vector(c.Scope, "D", param.Constant(1), x, s.M)))
	return c.Linear("o_proj", Mul(y, grad.SiLU(z)), s.d, false)
}
