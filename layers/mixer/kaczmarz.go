package mixer

// Kaczmarz Linear Attention, arXiv 2605.08587: Gated DeltaNet whose keys keep
// their norm and whose step is the relaxed Kaczmarz step
//
//	β_t = η_t / (‖k_t‖² + ε)      η_t = σ(W x_t + b) in (0,1)
//
// so that one write moves the prediction S̃ᵀk the fraction η‖k‖²/(‖k‖²+ε) of
// the way to v, whatever the norm of k.

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
	"github.com/kalmarz/kalmarz/layers/param"
)

var kaczmarzKind = &Kind{
	Name: "kaczmarz", Paper: "2605.08587", Doc: "gated delta rule with the step η/(‖k‖²+ε) on unnormalised keys", Error: WrittenAnd,
	Options: join(headOptions(4, 0.75, 1.5, 4), decayOptions(), gateOptions("silu"), option.Set{
		{Name: "norm", Kind: option.Word, Default: "relaxed_q_norm", Choices: []string{
			"l2", "kaczmarz", "relaxed", "relaxed_q_norm", "no_norm", "k_norm_only", "seq_only", "learned_scalar"},
			Help: "step: l2 = Gated DeltaNet; kaczmarz, k_norm_only: 1/(‖k‖²+ε); relaxed: η/(‖k‖²+ε); relaxed_q_norm: the same with unit queries (the paper's); no_norm: η; seq_only: 1/t; learned_scalar: η/(s‖k‖²+ε)"},
		{Name: "eta", Kind: option.Float, Default: "learned", Range: [2]float64{0, 2}, Choices: []string{"learned"}, Live: true, Help: "relaxation η: learned per token and head, or one number"},
		{Name: "eps", Kind: option.Float, Default: 1e-6, Range: [2]float64{0, math.Inf(1)}, Live: true, Help: "ε in the step"},
		{Name: "factor", Kind: option.Word, Default: "none", Choices: []string{"none", "1/t", "1/sqrt", "1/log"}, Help: "factor on the step at token t: 1/t, 1/√t, 1/ln(1+t)"},
		{Name: "decay", Kind: option.Word, Default: "dual", Choices: []string{"dual", "single", "none"}, Help: "dual: a decay of its own; single: α = 1-η; none: no decay"},
	}),
	New: func(d int, o option.Values) (Layer, error) {
		s, err := newSizes(d, o)
		return &kaczmarz{s, o}, err
	},
	Family: "kaczmarz",
	Core: func(in map[string]*Node, o option.Values) delta.Inputs {
		eps := ConstAs(in["k"], o.Float("eps"))
		r, _ := freeKeys(in["q"], in["k"], in["v"], kaczmarzStep(in["k"], in["eta"], eps), in["log_decay"])
		return r
	},
}

type kaczmarz struct {
	sizes
	o option.Values
}

func (l *kaczmarz) counts() bool {
	return l.o.Word("norm") == "seq_only" || l.o.Word("factor") != "none"
}

func (l *kaczmarz) Slots(int) []Slot {
	s := l.slots()
	if l.counts() {
		s = append(s, Slot{Name: "t"})
	}
	return s
}

func (l *kaczmarz) Apply(c *Context, x *Node) *Node {
	q, k, v := c.qkv(x, l.sizes)
	eta := l.eta(c, x)
	var g *Node
	switch l.o.Word("decay") {
	case "dual":
		g = c.decay(x, l.heads, l.o)
	case "single": // 1-η is kept above 0, where the logarithm ends
		g = Log(MinScalar(MaxScalar(OneMinus(eta), 1e-6), 1))
	}
	norm := l.o.Word("norm")
	if norm == "l2" || norm == "relaxed_q_norm" {
		q = grad.L2(q, 1e-6)
	}
	if norm == "l2" {
		k = grad.L2(k, 1e-6)
	}
	beta := l.step(c, k, eta)
	in, undo := freeKeys(q, k, v, beta, g)
	return c.gated(x, c.recur(in, beta, undo), l.sizes, l.o)
}

// eta returns η [B,T,H] in float32 or wider.
func (l *kaczmarz) eta(c *Context, x *Node) *Node {
	B, T := x.Shape().Dim(0), x.Shape().Dim(1)
	if l.o.Word("eta") == "learned" {
		return Sigmoid(grad.Wide(c.Linear("b_proj", x, l.heads, true)))
	}
	return BroadcastToDims(grad.Wide(c.Setting("eta", l.o.Float("eta"))), B, T, l.heads)
}

// step returns β [B,T,H].
func (l *kaczmarz) step(c *Context, k, eta *Node) *Node {
	B, T := k.Shape().Dim(0), k.Shape().Dim(1)
	var t *Node // 1, 2, ... counted from the sequence's start [B,T,1]
	if l.counts() {
		before := grad.Wide(c.Carried("t"))
		t = Add(Reshape(before, B, 1, 1), AddScalar(Iota(c.Graph, shapeLike(eta, B, T, 1), 1), 1))
		c.Keep("t", AddScalar(before, float64(T)))
	}
	eps := grad.Wide(c.Setting("eps", l.o.Float("eps")))
	var step *Node
	switch l.o.Word("norm") {
	case "l2", "no_norm":
		step = eta
	case "kaczmarz", "k_norm_only":
		step = kaczmarzStep(k, OnesLike(eta), eps)
	case "seq_only":
		step = BroadcastToDims(Reciprocal(t), B, T, l.heads)
	case "learned_scalar": // softplus(0.5413) = 1
		s := grad.SoftPlus(grad.Wide(c.Get("scale", param.Vector, param.Constant(math.Log(math.E-1)))))
		step = kaczmarzStep(Mul(grad.Wide(k), Sqrt(s)), eta, eps)
	default:
		step = kaczmarzStep(k, eta, eps)
	}
	switch l.o.Word("factor") {
	case "1/t":
		step = Div(step, t)
	case "1/sqrt":
		step = Div(step, Sqrt(t))
	case "1/log":
		step = Div(step, Log1P(t))
	}
	return step
}

// kaczmarzStep returns η/(‖k‖²+ε) for k [B,T,H,K], eta [B,T,H], and 0 where
// the denominator is 0.
func kaczmarzStep(k, eta, eps *Node) *Node {
	eta = grad.Wide(eta)
	d := Add(ReduceSum(Square(grad.Wide(k)), -1), ConvertDType(eps, eta.DType()))
	none := LessOrEqual(d, ZerosLike(d))
	return Where(none, ZerosLike(d), Div(eta, Where(none, OnesLike(d), d)))
}
