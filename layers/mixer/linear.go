package mixer

// Linear attention, arXiv 2006.16236: S_t = S_{t-1} + φ(k) vᵀ, o = S_tᵀ φ(q),
// optionally divided by φ(q)·Σφ(k). φ may be elu+1, relu, the identity, SiLU
// with unit length, a product of two projections, Hedgehog (arXiv 2402.04347),
// DPFP (arXiv 2102.11174) or a learned relu projection (arXiv 2103.13076).

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
	"github.com/kalmarz/kalmarz/layers/param"
)

var linearKind = &Kind{
	Name: "linear", Paper: "2006.16236", Doc: "no erase, no decay: a sum of φ(k)vᵀ",
	Options: join(headOptions(4, 1, 1, 0), option.Set{
		{Name: "phi", Kind: option.Word, Default: "elu", Choices: []string{"elu", "relu", "identity", "silu_l2", "product", "hedgehog", "dpfp", "t2r"}, Help: "feature map of keys and queries"},
		{Name: "normalise", Kind: option.Bool, Default: false, Help: "divide by φ(q)·Σφ(k)"},
	}),
	New: func(d int, o option.Values) (Layer, error) {
		s, err := newSizes(d, o)
		return &linear{s, o}, err
	},
}

type linear struct {
	sizes
	o option.Values
}

const dpfpShifts = 4

func (l *linear) Slots(int) []Slot {
	s := l.sizes
	switch l.o.Word("phi") {
	case "hedgehog":
		s.dk *= 2
	case "dpfp":
		s.dk *= 2 * dpfpShifts
	}
	if l.o.Bool("normalise") {
		s.dv++
	}
	slots := s.slots()
	return append(slots[:1], l.slots()[1:]...)
}

func (l *linear) Apply(c *Context, x *Node) *Node {
	var q, k, v *Node
	if l.conv > 0 {
		q, k, v = c.qkv(x, l.sizes)
	} else {
		q, k, v = c.plainQKV(x, l.sizes)
	}
	q, k = l.phi(c, "phi_q", q), l.phi(c, "phi_k", k)
	if !l.o.Bool("normalise") {
		return c.output(c.Recur(delta.Inputs{Q: Scale(q), K: k, Write: v}), nil, "", l.d)
	}
	// A value channel of ones accumulates Σφ(k), which the query then reads.
	one := OnesLike(SliceAxis(v, 3, AxisRange(0, 1)))
	o := grad.Cut(c.Recur(delta.Inputs{Q: q, K: k, Write: Concatenate([]*Node{v, one}, 3)}), 3, l.dv, 1)
	return c.output(Div(o[0], AddScalar(o[1], 1e-10)), nil, "", l.d)
}

func (l *linear) phi(c *Context, name string, x *Node) *Node {
	dk := x.Shape().Dim(3)
	switch l.o.Word("phi") {
	case "elu": // elu(x) + 1
		positive := GreaterThan(x, ZerosLike(x))
		return Where(positive, OnePlus(x), Exp(MinScalar(x, 0)))
	case "relu":
		return MaxScalar(x, 0)
	case "silu_l2":
		return grad.L2(grad.SiLU(x), 1e-6)
	case "product":
		return Mul(c.Linear(name+"_a", x, dk, true), c.Linear(name+"_b", x, dk, true))
	case "hedgehog": // W starts as the identity
		w := c.In(name).Get("weight", param.Matrix, param.Identity(dk), dk, dk)
		y := MulScalar(grad.Project(x, ConvertDType(w, x.DType())), 2)
		return Softmax(Concatenate([]*Node{y, Neg(y)}, 3))
	case "dpfp": // products of relu(±x) with its own rotations
		y := MaxScalar(Concatenate([]*Node{x, Neg(x)}, 3), 0)
		var out []*Node
		for i := 1; i <= dpfpShifts; i++ {
			cut := grad.Cut(y, 3, 2*dk-i, i)
			out = append(out, Mul(y, Concatenate([]*Node{cut[1], cut[0]}, 3)))
		}
		return Concatenate(out, 3)
	case "t2r":
		return MaxScalar(c.Linear(name, x, dk, true), 0)
	}
	return x
}
