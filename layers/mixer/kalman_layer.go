package mixer

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/kalman"
	"github.com/kalmarz/kalmarz/layers/param"
)

func (l *kalmanLayer) Value() (heads, width int) { return 1, l.M }

func (l *kalmanLayer) Slots(int) []Slot {
	state := []int{l.M, l.S}
	return append(convSlot("conv", l.conv, l.M), Slot{Name: "lambda", Dims: state, Start: 1}, Slot{Name: "eta", Dims: state})
}

func (l *kalmanLayer) Apply(c *Context, x *Node) *Node {
	bias, gated := l.o.Bool("bias"), l.o.Word("gate") != "none"
	z := x
	var gate *Node
	if gated {
		parts := grad.Cut(c.Linear("in_proj", x, 2*l.M, bias), 2, l.M, l.M)
		z, gate = parts[0], Activation(l.o.Word("gate"), parts[1])
	} else {
		z = c.Linear("in_proj", x, l.M, bias)
	}
	if l.conv > 0 {
		z = Activation(l.o.Word("conv_act"), c.convolve("conv", z, l.conv, true))
	}
	y, variance := l.run(c, z)
	switch l.o.Word("skip") {
	case "scalar":
		y = Add(y, Mul(z, ConvertDType(c.Get("lambda_skip", param.Vector, param.Constant(l.o.Float("skip_init"))), z.DType())))
	case "vector":
		y = Add(y, Mul(z, c.vector(c.Scope, "lambda_skip", param.Constant(l.o.Float("skip_init")), z, l.M)))
	}
	if gated {
		y = Mul(y, gate)
	}
	out := c.Linear("out_proj", y, l.d, bias)
	c.offer("variance", func() *Node {
		if gated {
			variance = Mul(variance, Square(gate))
		}
		w := c.In("out_proj").Get("weight", param.Matrix, nil, l.M, l.d)
		return grad.Project(variance, Square(ConvertDType(w, variance.DType())))
	})
	return out
}

// sensors projects z to what the filter sees: v, its precision 1/σ², k and q.
func (l *kalmanLayer) sensors(c *Context, z *Node) kalman.Inputs {
	bias := l.o.Bool("bias")
	width := func(rank int) int {
		if rank == 0 {
			return l.M
		}
		return max(rank, 0)
	}
	value, noise := width(l.valueRank), width(l.varRank)
	sizes := []int{value, noise, l.S, l.S}
	if value == 0 {
		sizes = sizes[1:]
	}
	parts := grad.Cut(c.Linear("sensor_proj", z, value+noise+2*l.S, bias), 2, sizes...)
	v := z
	if value > 0 {
		v, parts = parts[0], parts[1:]
	}
	if l.valueRank > 0 {
		v = c.Linear("value_expand", v, l.M, bias)
	}
	logit := parts[0]
	if l.varRank > 0 {
		logit = c.Linear("var_expand", logit, l.M, bias)
	}
	sigma := AddScalar(grad.SoftPlus(grad.Wide(logit)), l.varMin)
	if l.limit > 0 {
		sigma = MinScalar(sigma, l.limit)
	}
	return kalman.Inputs{V: grad.Wide(v), Precision: Reciprocal(sigma), K: l.direction(parts[1]), Q: l.direction(parts[2])}
}

// direction is x / max(|x|, 1e-12), within the bounds of clip.
func (l *kalmanLayer) direction(x *Node) *Node {
	x = grad.Wide(x)
	if l.o.Bool("qk_norm") {
		x = Div(x, Sqrt(MaxScalar(grad.SumSquares(x), 1e-24)))
	}
	if l.clip > 0 {
		x = MaxScalar(MinScalar(x, l.clip), -l.clip)
	}
	return x
}
