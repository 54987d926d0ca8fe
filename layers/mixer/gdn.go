package mixer

// Gated DeltaNet, arXiv 2412.06464: the delta rule on a state that decays,
// S_t = α S_{t-1} + β k (v - α S_{t-1}ᵀk)ᵀ, with one α in (0,1) per head.

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
)

var gdnKind = &Kind{
	Name: "gdn", Paper: "2412.06464", Doc: "gated delta rule: one decay per head", Error: WrittenAnd,
	Options: join(headOptions(4, 0.75, 1.5, 4), betaOptions(true), decayOptions(), gateOptions("silu")),
	New: func(d int, o option.Values) (Layer, error) {
		s, err := newSizes(d, o)
		return &gdn{s, o}, err
	},
	Family: "gdn",
	Core: func(in map[string]*Node, _ option.Values) delta.Inputs {
		return deltaRule(in["q"], in["k"], in["v"], in["beta"], in["log_decay"])
	},
}

type gdn struct {
	sizes
	o option.Values
}

func (l *gdn) Slots(int) []Slot { return l.slots() }

func (l *gdn) Apply(c *Context, x *Node) *Node {
	q, k, v := c.qkv(x, l.sizes)
	beta, g := c.beta(x, l.heads, l.o), c.decay(x, l.heads, l.o)
	o := c.correct(grad.L2(q, 1e-6), grad.L2(k, 1e-6), v, beta, g)
	return c.gated(x, o, l.sizes, l.o)
}

// gateOptions declares the output gate.
func gateOptions(act string) option.Set {
	return option.Set{{Name: "gate", Kind: option.Word, Default: act, Choices: []string{"silu", "sigmoid", "none"}, Help: "activation of the output gate"}}
}

// gated is the output with a full-rank gate on x, or none.
func (c *Context) gated(x, o *Node, s sizes, opt option.Values) *Node {
	var gate *Node
	if opt.Word("gate") != "none" {
		gate = c.Linear("g_proj", x, s.heads*s.dv, false)
	}
	return c.output(o, gate, opt.Word("gate"), s.d)
}

// join concatenates option sets into a new one.
func join(sets ...option.Set) option.Set {
	var all option.Set
	for _, s := range sets {
		all = append(all, s...)
	}
	return all
}
