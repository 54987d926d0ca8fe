package mixer

// Gated DeltaNet-2, arXiv 2605.22791: erasing and writing are gated apart,
// e = b∘k with b per key channel, z = w∘v with w per value channel, on a state
// that decays per key channel.

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
)

var gdn2Kind = &Kind{
	Name: "gdn2", Paper: "2605.22791", Doc: "erase gate per key channel, write gate per value channel", Error: Written,
	Options: join(headOptions(4, 1, 1, 4), channelDecayOptions(), gateOptions("silu"), option.Set{
		{Name: "neg_eigval", Kind: option.Bool, Default: false, Help: "erase gate in (0,2): the transition may have negative eigenvalues"},
	}),
	New: func(d int, o option.Values) (Layer, error) {
		s, err := newSizes(d, o)
		return &gdn2{s, o}, err
	},
	Family: "gdn2",
	Core: func(in map[string]*Node, _ option.Values) delta.Inputs {
		return eraseAndWrite(in["q"], in["k"], in["v"], in["erase"], in["write"], in["log_decay"])
	},
}

// eraseAndWrite returns e = b∘k, z = w∘v for gates [B,T,H,K] and [B,T,H,V].
func eraseAndWrite(q, k, v, b, w, logDecay *Node) delta.Inputs {
	return delta.Inputs{Q: Scale(q), K: k, Erase: Mul(b, k), Write: Mul(w, v), LogDecay: logDecay}
}

type gdn2 struct {
	sizes
	o option.Values
}

func (l *gdn2) Slots(int) []Slot { return l.slots() }

func (l *gdn2) Apply(c *Context, x *Node) *Node {
	q, k, v := c.qkv(x, l.sizes)
	share := l.heads / l.qkHeads
	b := Share(Heads(Sigmoid(c.Linear("b_proj", x, l.qkHeads*l.dk, false)), l.qkHeads), share)
	if l.o.Bool("neg_eigval") {
		b = MulScalar(b, 2)
	}
	w := Heads(Sigmoid(c.Linear("w_proj", x, l.heads*l.dv, false)), l.heads)
	g := Share(c.channelDecay(x, l.qkHeads, l.sizes, l.o), share)
	o := c.Recur(eraseAndWrite(grad.L2(q, 1e-6), grad.L2(k, 1e-6), v, b, w, g))
	return c.lowRankGated(x, o, l.sizes, l.o)
}
