package mixer

// The blocks that mixers are made of.

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
	"github.com/kalmarz/kalmarz/layers/param"
)

// Linear projects the last axis of x to out columns; a bias starts at 0. The
// projection named o_proj or out_proj leads into the residual stream.
func (c *Context) Linear(name string, x *Node, out int, bias bool) *Node {
	in := x.Shape().Dim(-1)
	s := c.In(name)
	y := grad.Project(x, ConvertDType(s.Projection("weight", name == "o_proj" || name == "out_proj", in, out), x.DType()))
	if bias {
		y = Add(y, c.vector(s, "bias", param.Constant(0), y, out))
	}
	return y
}

// vector is a parameter [n] shaped to be added to or multiplied with like.
func (c *Context) vector(s param.Scope, name string, init param.Init, like *Node, n int) *Node {
	return ExpandLeftToRank(ConvertDType(s.Get(name, param.Vector, init, n), like.DType()), like.Rank())
}

// Conv is the causal depthwise convolution of width w over x [B,T,C], then
// SiLU: silu(Σ_i weight_i x_{t-w+1+i}). Its last w-1 inputs are carried in the
// slot of its name. w = 0 leaves SiLU alone.
func (c *Context) Conv(name string, x *Node, w int, bias bool) *Node {
	return grad.SiLU(c.convolve(name, x, w, bias))
}

// convolve is Conv without SiLU.
func (c *Context) convolve(name string, x *Node, w int, bias bool) *Node {
	if w == 0 {
		return x
	}
	T, n := x.Shape().Dim(1), x.Shape().Dim(2)
	s := c.In(name)
	weight := ConvertDType(s.Get("weight", param.Vector, param.Torch(w), w, n), x.DType())
	long := Concatenate([]*Node{ConvertDType(c.Carried(name), x.DType()), x}, 1)
	c.Keep(name, ConvertDType(SliceAxis(long, 1, AxisRange(T, T+w-1)), wide(c.Set.DType)))
	var y *Node
	for i := range w {
		term := Mul(SliceAxis(long, 1, AxisRange(i, i+T)), Reshape(SliceAxis(weight, 0, AxisElem(i)), 1, 1, n))
		if y == nil {
			y = term
		} else {
			y = Add(y, term)
		}
	}
	if bias {
		y = Add(y, c.vector(s, "bias", param.Constant(0), y, n))
	}
	return y
}

// convSlot is the carried window of a convolution; none if it has no width.
func convSlot(name string, w, channels int) []Slot {
	if w == 0 {
		return nil
	}
	return []Slot{{Name: name, Dims: []int{w - 1, channels}}}
}

// Heads splits the last axis into h heads: [B,T,hD] -> [B,T,h,D].
func Heads(x *Node, h int) *Node {
	return Reshape(x, x.Shape().Dim(0), x.Shape().Dim(1), h, -1)
}

// Merge joins heads: [B,T,H,D] -> [B,T,HD].
func Merge(x *Node) *Node {
	return Reshape(x, x.Shape().Dim(0), x.Shape().Dim(1), -1)
}

// Share repeats each head n times in place, so that value head h reads key
// head h/n: [B,T,H,...] -> [B,T,Hn,...].
func Share(x *Node, n int) *Node {
	if n == 1 {
		return x
	}
	d := x.Shape().Dimensions
	wide := append(append([]int{}, d[:3]...), append([]int{n}, d[3:]...)...)
	y := BroadcastToDims(InsertAxes(x, 3), wide...)
	return Reshape(y, append([]int{d[0], d[1], d[2] * n}, d[3:]...)...)
}

// PerHead reshapes [B,T,H] to [B,T,H,1].
func PerHead(x *Node) *Node { return InsertAxes(x, -1) }

// Recur runs the recurrence with the state carried in slot "state".
func (c *Context) Recur(in delta.Inputs) *Node { return c.recur(in, nil, nil) }

// recur is Recur for a delta rule with the step beta [B,T,H], or nil if e is not
// βk, and what freeKeys returns, or nil.
func (c *Context) recur(in delta.Inputs, beta, undo *Node) *Node {
	in.State = c.Carried("state")
	out := delta.Run(in, c.Form)
	c.Keep("state", out.State)
	c.offerError(in, out.U, beta, undo)
	c.observe(in, out.U, undo)
	return out.O
}

// Norm is RMSNorm over the last axis with a learned weight.
func (c *Context) Norm(name string, x *Node, eps float64) *Node {
	n := x.Shape().Dim(-1)
	return grad.RMSNorm(x, c.In(name).Get("weight", param.Vector, param.Constant(1), n), eps)
}

// Scale multiplies queries by 1/√K.
func Scale(q *Node) *Node { return MulScalar(q, 1/math.Sqrt(float64(q.Shape().Dim(-1)))) }

// Activation applies an activation by its name: silu, gelu, relu or sigmoid.
func Activation(name string, x *Node) *Node {
	switch name {
	case "silu":
		return grad.SiLU(x)
	case "gelu":
		return MulScalar(Mul(x, OnePlus(Erf(MulScalar(x, math.Sqrt2/2)))), 0.5)
	case "relu":
		return MaxScalar(x, 0)
	}
	return Sigmoid(x)
}

// sizes are the widths of a mixer with heads.
type sizes struct{ d, heads, qkHeads, dk, dv, conv int }

// headOptions declares the widths of a mixer: expand_k and expand_v give the
// total key and value width as multiples of the model's, dk and dv override.
func headOptions(heads int, expandK, expandV float64, conv int) option.Set {
	some := [2]float64{1, 1 << 20}
	return option.Set{
		{Name: "heads", Kind: option.Int, Default: heads, Range: [2]float64{1, 1024}, Help: "value heads"},
		{Name: "qk_heads", Kind: option.Int, Default: 0, Range: [2]float64{0, 1024}, Help: "query and key heads, each shared by heads/qk_heads value heads; 0 = heads"},
		{Name: "expand_k", Kind: option.Float, Default: expandK, Range: [2]float64{1.0 / 64, 64}, Help: "total key width / model width"},
		{Name: "expand_v", Kind: option.Float, Default: expandV, Range: [2]float64{1.0 / 64, 64}, Help: "total value width / model width"},
		{Name: "dk", Kind: option.Int, Default: 0, Range: [2]float64{0, some[1]}, Help: "key width of a head; 0 = from expand_k"},
		{Name: "dv", Kind: option.Int, Default: 0, Range: [2]float64{0, some[1]}, Help: "value width of a head; 0 = from expand_v"},
		{Name: "conv", Kind: option.Int, Default: conv, Range: [2]float64{0, 64}, Help: "width of the short convolutions; 0 = none"},
	}
}

// newSizes reads headOptions for model width d.
func newSizes(d int, o option.Values) (s sizes, err error) {
	s = sizes{d: d, heads: o.Int("heads"), qkHeads: o.Int("qk_heads"), dk: o.Int("dk"), dv: o.Int("dv"), conv: o.Int("conv")}
	if s.conv == 1 {
		return s, fmt.Errorf("conv = 1: must be 0 or at least 2")
	}
	if s.qkHeads == 0 {
		s.qkHeads = s.heads
	}
	if s.heads%s.qkHeads != 0 {
		return s, fmt.Errorf("qk_heads = %d: must divide heads = %d", s.qkHeads, s.heads)
	}
	if s.dk, err = headWidth("expand_k", s.dk, d, o.Float("expand_k"), s.heads); err != nil {
		return s, err
	}
	s.dv, err = headWidth("expand_v", s.dv, d, o.Float("expand_v"), s.heads)
	return s, err
}

func headWidth(name string, given, d int, expand float64, heads int) (int, error) {
	if given > 0 {
		return given, nil
	}
	total := float64(d) * expand
	if w := total / float64(heads); w >= 1 && w == math.Trunc(w) {
		return int(w), nil
	}
	return 0, fmt.Errorf("%s = %g: width %d x %g = %g must be a multiple of heads = %d", name, expand, d, expand, total, heads)
}

// Value is the shape of the written value.
func (s sizes) Value() (heads, width int) { return s.heads, s.dv }

// slots are the state of a recurrence and of the convolutions on q, k and v.
func (s sizes) slots() []Slot {
	slots := []Slot{{Name: "state", Dims: []int{s.heads, s.dk, s.dv}}}
	slots = append(slots, convSlot("q_conv", s.conv, s.qkHeads*s.dk)...)
	slots = append(slots, convSlot("k_conv", s.conv, s.qkHeads*s.dk)...)
	return append(slots, convSlot("v_conv", s.conv, s.heads*s.dv)...)
}

// qkv projects x to q, k [B,T,H,K] and v [B,T,H,V], each through its short
// convolution and SiLU; key heads are shared out to value heads.
func (c *Context) qkv(x *Node, s sizes) (q, k, v *Node) {
	share := s.heads / s.qkHeads
	q = Share(Heads(c.Conv("q_conv", c.Linear("q_proj", x, s.qkHeads*s.dk, false), s.conv, false), s.qkHeads), share)
	k = Share(Heads(c.Conv("k_conv", c.Linear("k_proj", x, s.qkHeads*s.dk, false), s.conv, false), s.qkHeads), share)
	v = c.value(Heads(c.Conv("v_conv", c.Linear("v_proj", x, s.heads*s.dv, false), s.conv, false), s.heads))
	return
}

// output normalises each head of o [B,T,H,V], gates it with act(gate) unless
// gate is nil, and projects to the model's width.
func (c *Context) output(o, gate *Node, act string, d int) *Node {
	o = c.Norm("o_norm", o, 1e-5)
	if gate != nil {
		o = Mul(o, Activation(act, Heads(gate, o.Shape().Dim(2))))
	}
	return c.Linear("o_proj", Merge(o), d, false)
}
