package mixer

// Gated Linear Attention, arXiv 2312.06635: S_t = Diag(α_t) S_{t-1} + k vᵀ with
// a decay per key channel, α = σ(low-rank(x))^(1/16). SimpleGLA keeps one decay
// per head, with unit keys and queries, rotary positions, and neither output
// norm nor gate, as it is used for a baseline beside Kaczmarz attention.

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
)

var glaKind = &Kind{
	Name: "gla", Paper: "2312.06635", Doc: "no erase, a decay per key channel",
	Options: join(headOptions(4, 0.5, 1, 0), gateOptions("silu"), softGateOptions(), option.Set{
		{Name: "rank", Kind: option.Int, Default: 16, Range: [2]float64{1, 4096}, Help: "rank of the decay's projection"},
	}),
	New: func(d int, o option.Values) (Layer, error) {
		s, err := newSizes(d, o)
		return &gla{s, o}, err
	},
	Family: "gla",
	Core:   additiveCore,
}

// additiveCore is the recurrence without erase by its published names.
func additiveCore(in map[string]*Node, _ option.Values) delta.Inputs {
	return delta.Inputs{Q: Scale(in["q"]), K: in["k"], Write: in["v"], LogDecay: in["log_decay"]}
}

// softGateOptions declares the decay σ(x)^(1/normalizer).
func softGateOptions() option.Set {
	return option.Set{{Name: "normalizer", Kind: option.Float, Default: 16.0, Range: [2]float64{1, 1e4}, Help: "the decay's logit is divided by it after ln σ"}}
}

type gla struct {
	sizes
	o option.Values
}

func (l *gla) Slots(int) []Slot { return l.slots() }

func (l *gla) Apply(c *Context, x *Node) *Node {
	var q, k, v *Node
	if l.conv > 0 {
		q, k, v = c.qkv(x, l.sizes)
	} else {
		q, k, v = c.plainQKV(x, l.sizes)
	}
	a := c.Linear("f_up", c.Linear("f_down", x, l.o.Int("rank"), false), l.heads*l.dk, true)
	g := DivScalar(grad.LogSigmoid(grad.Wide(a)), l.o.Float("normalizer"))
	o := c.Recur(delta.Inputs{Q: Scale(q), K: k, Write: v, LogDecay: Heads(g, l.heads)})
	return c.gated(x, o, l.sizes, l.o)
}

// plainQKV projects x to q, k and v without convolution or activation.
func (c *Context) plainQKV(x *Node, s sizes) (q, k, v *Node) {
	share := s.heads / s.qkHeads
	q = Share(Heads(c.Linear("q_proj", x, s.qkHeads*s.dk, false), s.qkHeads), share)
	k = Share(Heads(c.Linear("k_proj", x, s.qkHeads*s.dk, false), s.qkHeads), share)
	v = c.value(Heads(c.Linear("v_proj", x, s.heads*s.dv, false), s.heads))
	return
}

var simpleGLAKind = &Kind{
	Name: "simple_gla", Paper: "2312.06635", Doc: "no erase, one decay per head, rotary positions",
	Options: join(headOptions(4, 1, 1, 0), softGateOptions(), rotaryOptions(true, 1e4)),
	New: func(d int, o option.Values) (Layer, error) {
		s, err := newSizes(d, o)
		if err == nil && o.Bool("rope") {
			err = evenWidth(s.dk)
		}
		return &simpleGLA{s, o}, err
	},
	Family: "scalar_gla",
	Core:   additiveCore,
}

type simpleGLA struct {
	sizes
	o option.Values
}

func (l *simpleGLA) Slots(int) []Slot { return append(l.slots(), Slot{Name: "t"}) }

func (l *simpleGLA) Apply(c *Context, x *Node) *Node {
	var q, k, v *Node
	if l.conv > 0 {
		q, k, v = c.qkv(x, l.sizes)
	} else {
		q, k, v = c.plainQKV(x, l.sizes)
	}
	q, k = grad.L2(q, 1e-6), grad.L2(k, 1e-6)
	t := c.positions(x.Shape().Dim(1))
	if l.o.Bool("rope") {
		theta := l.o.Float("theta")
		q, k = Rotate(q, t, theta), Rotate(k, t, theta)
	}
	g := DivScalar(grad.LogSigmoid(grad.Wide(c.Linear("a_proj", x, l.heads, true))), l.o.Float("normalizer"))
	o := c.Recur(delta.Inputs{Q: Scale(q), K: k, Write: v, LogDecay: g})
	return c.Linear("o_proj", Merge(o), l.d, false)
}
