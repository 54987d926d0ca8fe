package mixer

// Kimi Delta Attention, arXiv 2510.26692: the gated delta rule with a decay
// per key channel, from a low-rank projection.

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
	"github.com/kalmarz/kalmarz/layers/param"
)

var kdaKind = &Kind{
	Name: "kda", Paper: "2510.26692", Doc: "gated delta rule with a decay per key channel", Error: WrittenAnd,
	Options: join(headOptions(4, 1, 1, 4), betaOptions(false), channelDecayOptions(), gateOptions("sigmoid")),
	New: func(d int, o option.Values) (Layer, error) {
		s, err := newSizes(d, o)
		return &kda{s, o}, err
	},
	Family: "kda",
	Core: func(in map[string]*Node, _ option.Values) delta.Inputs {
		return deltaRule(in["q"], in["k"], in["v"], in["beta"], in["log_decay"])
	},
}

type kda struct {
	sizes
	o option.Values
}

func (l *kda) Slots(int) []Slot { return l.slots() }

func (l *kda) Apply(c *Context, x *Node) *Node {
	q, k, v := c.qkv(x, l.sizes)
	beta := c.beta(x, l.heads, l.o)
	g := c.channelDecay(x, l.heads, l.sizes, l.o)
	o := c.correct(grad.L2(q, 1e-6), grad.L2(k, 1e-6), v, beta, g)
	return c.lowRankGated(x, o, l.sizes, l.o)
}

// channelDecayOptions declares decays per key channel.
func channelDecayOptions() option.Set {
	return append(decayOptions(),
		option.Option{Name: "decay", Kind: option.Word, Default: "softplus", Choices: []string{"softplus", "clamp", "safe"},
			Help: "softplus: -exp(A) softplus(x); clamp: that, at least lower_bound; safe: lower_bound σ(exp(A) x)"},
		option.Option{Name: "lower_bound", Kind: option.Float, Default: -5.0, Range: [2]float64{-100, -1e-3}, Help: "least log-decay of a token under clamp and safe"})
}

// channelDecay returns log-decays [B,T,heads,K]: a rate A per head, a step bias
// per channel, the step from x through a bottleneck as wide as a value head.
func (c *Context) channelDecay(x *Node, heads int, s sizes, o option.Values) *Node {
	n := heads * s.dk
	a := grad.Wide(c.Linear("f_up", c.Linear("f_down", x, s.dv, false), n, false))
	lb := o.Float("lower_bound")
	switch o.Word("decay") {
	case "safe":
		logA := Reshape(grad.Wide(c.Get("A_log", param.Vector, param.Constant(0), heads)), 1, 1, heads, 1)
		a = Add(a, Reshape(grad.Wide(c.Get("dt_bias", param.Vector, param.StepSize(1e-3, 1e-1), n)), 1, 1, n))
		return safeDecay(logA, Heads(a, heads), lb)
	case "clamp":
		return MaxScalar(Heads(c.decayOf(a, n, heads, o), heads), lb)
	}
	return Heads(c.decayOf(a, n, heads, o), heads)
}

// safeDecay returns lb σ(exp(logA) x), in (lb, 0).
func safeDecay(logA, x *Node, lb float64) *Node {
	return MulScalar(Sigmoid(Mul(Exp(logA), x)), lb)
}

// lowRankGated is the output with a gate through a bottleneck as wide as a
// value head, or none.
func (c *Context) lowRankGated(x, o *Node, s sizes, opt option.Values) *Node {
	var gate *Node
	if opt.Word("gate") != "none" {
		gate = c.Linear("g_up", c.Linear("g_down", x, s.dv, false), s.heads*s.dv, true)
	}
	return c.output(o, gate, opt.Word("gate"), s.d)
}
