package mixer

// The mLSTM block of xLSTM, arXiv 2405.04517: a matrix memory per head with an
// exponential input gate, kept in range by a running maximum (see package ssm):
//
//	[x, z] = W_up h    c = silu(conv(x))    q, k from c, v from x, in small blocks
//	i, f = W [q, k, v] per head    y = norm(mlstm(q, k, v, i, f)) + s c
//	h' = W_down (y ∘ silu(z))

import (
	"fmt"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
	"github.com/kalmarz/kalmarz/layers/param"
	"github.com/kalmarz/kalmarz/layers/ssm"
)

var mlstmKind = &Kind{
	Name: "mlstm", Paper: "2405.04517", Doc: "matrix memory with an exponential input gate and a normaliser",
	Options: option.Set{
		{Name: "heads", Kind: option.Int, Default: 4, Range: [2]float64{1, 1024}, Help: "heads"},
		{Name: "expand", Kind: option.Float, Default: 2.0, Range: [2]float64{1.0 / 64, 64}, Help: "inner width / model width"},
		{Name: "block", Kind: option.Int, Default: 4, Range: [2]float64{1, 1 << 20}, Help: "channels that q, k and v mix among themselves"},
		{Name: "conv", Kind: option.Int, Default: 4, Range: [2]float64{2, 64}, Help: "width of the short convolution"},
	},
	New: func(d int, o option.Values) (Layer, error) {
		l := &mlstm{d: d, heads: o.Int("heads"), block: o.Int("block"), conv: o.Int("conv")}
		var err error
		if l.M, err = innerWidth(d, o.Float("expand")); err != nil {
			return nil, err
		}
		for _, x := range []struct {
			name string
			n    int
		}{{"heads", l.heads}, {"block", l.block}} {
			if l.M%x.n != 0 {
				return nil, fmt.Errorf("%s = %d: must divide the inner width, %d", x.name, x.n, l.M)
			}
		}
		return l, nil
	},
}

type mlstm struct{ d, M, heads, block, conv int }

func (l *mlstm) Value() (heads, width int) { return l.heads, l.M / l.heads }

func (l *mlstm) Slots(int) []Slot {
	K := l.M / l.heads
	return append(convSlot("conv", l.conv, l.M), Slot{Name: "memory", Dims: []int{l.heads, K, K}},
		Slot{Name: "norm", Dims: []int{l.heads, K}}, Slot{Name: "max", Dims: []int{l.heads}})
}

func (l *mlstm) Apply(c *Context, h *Node) *Node {
	parts := grad.Cut(c.Linear("up_proj", h, 2*l.M, false), 2, l.M, l.M)
	x, z := parts[0], parts[1]
	mixed := c.Conv("conv", x, l.conv, true)
	q, k, v := l.project(c, "q_proj", mixed), l.project(c, "k_proj", mixed), l.project(c, "v_proj", x)
	all := Concatenate([]*Node{q, k, v}, 2)
	input := l.gate(c, "i_gate", all, param.Normal(0.1))
	forget := l.gate(c, "f_gate", all, func(_ *rand.Rand, out []float64) { // evenly from 3 to 6
		for i := range out {
			out[i] = 3 + 3*float64(i)/float64(max(1, len(out)-1))
		}
	})
	y, state := ssm.MLSTM(ssm.MLSTMInputs{Q: Scale(Heads(q, l.heads)), K: Heads(k, l.heads), V: c.value(Heads(v, l.heads)),
		Input: input, Forget: forget,
		State: ssm.MLSTMState{Memory: c.Carried("memory"), Norm: c.Carried("norm"), Max: c.Carried("max")},
	}, c.Form, Plan(c.Form, h.Shape().Dim(1)))
	c.Keep("memory", state.Memory)
	c.Keep("norm", state.Norm)
	c.Keep("max", state.Max)

	// Layer norm of each head: less its mean, over its deviation.
	y = Sub(y, ReduceAndKeep(y, ReduceMean, -1))
	y = Mul(Merge(grad.RMSNorm(y, nil, 1e-5)), c.vector(c.In("o_norm"), "weight", param.Constant(1), x, l.M))
	y = Add(y, Mul(mixed, c.vector(c.Scope, "skip", param.Constant(1), x, l.M)))
	return c.Linear("o_proj", Mul(y, grad.SiLU(z)), l.d, false)
}

// project mixes the channels of x [B,T,M] within blocks, each by its own matrix.
func (l *mlstm) project(c *Context, name string, x *Node) *Node {
	B, T, n := x.Shape().Dim(0), x.Shape().Dim(1), l.M/l.block
	w := ConvertDType(c.In(name).Get("weight", param.Vector, param.Torch(l.block), n, l.block, l.block), x.DType())
	rows := TransposeAllAxes(Reshape(x, B*T, n, l.block), 1, 0, 2)
	return Reshape(TransposeAllAxes(grad.BMM(rows, w), 1, 0, 2), B, T, l.M)
}

// gate returns a number per head [B,T,H] that starts as its bias.
func (l *mlstm) gate(c *Context, name string, x *Node, bias param.Init) *Node {
	s := c.In(name)
	w := s.Get("weight", param.Vector, param.Constant(0), 3*l.M, l.heads)
	y := grad.Wide(grad.Project(x, ConvertDType(w, x.DType())))
	y = Add(y, Reshape(grad.Wide(s.Get("bias", param.Vector, bias, l.heads)), 1, 1, l.heads))
	return ConvertDType(y, x.DType())
}
