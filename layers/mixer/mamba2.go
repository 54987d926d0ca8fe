package mixer

// Mamba-2, arXiv 2405.21060: S_t = α S_{t-1} + B_t (Δ_t x_t)ᵀ, y_t = S_tᵀ C_t + D x_t
// with one α = exp(-exp(A_log) Δ) per head; B and C play key and query, shared
// by the heads of a group, neither normalised nor scaled.

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
	"github.com/kalmarz/kalmarz/layers/param"
)

var mamba2Kind = &Kind{
	Name: "mamba2", Paper: "2405.21060", Doc: "state-space duality: no erase, one decay per head tied to the step",
	Options: join(option.Set{
		{Name: "expand", Kind: option.Float, Default: 2.0, Range: [2]float64{1.0 / 64, 64}, Help: "inner width / model width"},
		{Name: "dv", Kind: option.Int, Default: 64, Range: [2]float64{1, 1 << 20}, Help: "value width of a head"},
		{Name: "dk", Kind: option.Int, Default: 128, Range: [2]float64{1, 1 << 20}, Help: "state size: key width of a head"},
		{Name: "groups", Kind: option.Int, Default: 1, Range: [2]float64{1, 1024}, Help: "groups of heads that share keys and queries"},
		{Name: "conv", Kind: option.Int, Default: 4, Range: [2]float64{2, 64}, Help: "width of the short convolution"},
	}, decayOptions()),
	New: newMamba2,
}

type mamba2 struct {
	d, inner, heads, dk, dv, groups, conv int
	o                                     option.Values
}

func newMamba2(d int, o option.Values) (Layer, error) {
	l := &mamba2{d: d, dk: o.Int("dk"), dv: o.Int("dv"), groups: o.Int("groups"), conv: o.Int("conv"), o: o}
	inner := float64(d) * o.Float("expand")
	l.inner = int(inner)
	l.heads = l.inner / l.dv
	if float64(l.inner) != inner || l.heads == 0 || l.inner%l.dv != 0 {
		return nil, fmt.Errorf("dv = %d: must divide the inner width %d x %g = %g", l.dv, d, o.Float("expand"), inner)
	}
	if l.heads%l.groups != 0 {
		return nil, fmt.Errorf("groups = %d: must divide the number of heads, %d", l.groups, l.heads)
	}
	return l, nil
}

func (l *mamba2) channels() int { return l.inner + 2*l.groups*l.dk }

func (l *mamba2) Value() (heads, width int) { return l.heads, l.dv }

func (l *mamba2) Slots(int) []Slot {
	return append([]Slot{{Name: "state", Dims: []int{l.heads, l.dk, l.dv}}}, convSlot("conv", l.conv, l.channels())...)
}

func (l *mamba2) Apply(c *Context, x *Node) *Node {
	B, T := x.Shape().Dim(0), x.Shape().Dim(1)
	parts := grad.Cut(c.Linear("in_proj", x, l.inner+l.channels()+l.heads, false), 2, l.inner, l.channels(), l.heads)
	z, dt := parts[0], grad.Wide(parts[2])
	parts = grad.Cut(c.Conv("conv", parts[1], l.conv, true), 2, l.inner, l.groups*l.dk, l.groups*l.dk)
	v := Heads(parts[0], l.heads)
	k, q := Share(Heads(parts[1], l.groups), l.heads/l.groups), Share(Heads(parts[2], l.groups), l.heads/l.groups)
	written := c.value(v)

	g := c.decayOf(dt, l.heads, l.heads, l.o)
	bias := grad.Wide(c.Get("dt_bias", param.Vector, nil, l.heads))
	step := grad.SoftPlus(Add(dt, Reshape(bias, 1, 1, l.heads)))
	o := c.Recur(delta.Inputs{Q: q, K: k, Write: Mul(ConvertDType(PerHead(step), v.DType()), written), LogDecay: g})
	skip := ConvertDType(c.Get("D", param.Vector, param.Constant(1), l.heads), v.DType())
	y := Merge(Add(o, Mul(Reshape(skip, 1, 1, l.heads, 1), v)))
	y = Reshape(Mul(y, grad.SiLU(z)), B, T, l.groups, l.inner/l.groups)
	y = Mul(Merge(grad.RMSNorm(y, nil, 1e-5)), c.vector(c.In("o_norm"), "weight", param.Constant(1), z, l.inner))
	return c.Linear("o_proj", y, l.d, false)
}
