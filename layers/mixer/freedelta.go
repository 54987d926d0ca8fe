package mixer

// The delta rule with every gate chosen by itself: the space that
// arXiv 2605.22791 spans,
//
//	S̃ = Diag(α) S    S' = S̃ + k (w∘v - S̃ᵀ(b∘k))ᵀ
//
// on unit keys and queries. Forgetting α, erasing b and writing w each are none (1,
// 0 and 1), one number a head, or one a channel; the write gate may also be tied
// to the erase gate, as in DeltaNet. What else the block holds is the same for
// all, so that cells differ in their gates alone. It contains
//
//	forget   erase    write
//	none     none     none      linear attention
//	channel  none     none      GLA's state
//	none     scalar   tied      DeltaNet
//	scalar   scalar   tied      Gated DeltaNet
//	channel  scalar   tied      Kimi Delta Attention
//	channel  channel  channel   Gated DeltaNet-2

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
)

var freeDeltaKind = &Kind{
	Name: "delta", Paper: "2605.22791", Doc: "the delta rule with its gates chosen one by one", Error: Written,
	Options: join(option.Set{
		{Name: "forget", Kind: option.Word, Default: "scalar", Choices: []string{"none", "scalar", "channel"}, Help: "decay of the state: none, one a head, or one a key channel"},
		{Name: "erase", Kind: option.Word, Default: "scalar", Choices: []string{"none", "scalar", "channel"}, Help: "gate b on what is erased: nothing is, one a head, or one a key channel"},
		{Name: "write", Kind: option.Word, Default: "tied", Choices: []string{"none", "tied", "scalar", "channel"}, Help: "gate w on what is written: 1, the erase gate, one a head, or one a value channel"},
	}, headOptions(4, 1, 1, 4), betaOptions(false), channelDecayOptions(), gateOptions("silu")),
	New: func(d int, o option.Values) (Layer, error) {
		s, err := newSizes(d, o)
		if err == nil && o.Word("write") == "tied" && o.Word("erase") != "scalar" {
			err = fmt.Errorf("write = tied: needs erase = scalar, have %s", o.Word("erase"))
		}
		return &freeDelta{s, o}, err
	},
}

type freeDelta struct {
	sizes
	o option.Values
}

func (l *freeDelta) Slots(int) []Slot { return l.slots() }

// Error is what this choice of gates offers.
func (l *freeDelta) Error() Error {
	if l.o.Word("erase") == "none" {
		return NoError
	}
	return Written
}

func (l *freeDelta) Apply(c *Context, x *Node) *Node {
	q, k, v := c.qkv(x, l.sizes)
	in := delta.Inputs{Q: Scale(grad.L2(q, 1e-6)), K: grad.L2(k, 1e-6), Write: v}
	var b *Node
	switch l.o.Word("erase") {
	case "scalar":
		b = PerHead(c.beta(x, l.heads, l.o))
	case "channel":
		b = Heads(Sigmoid(c.Linear("b_proj", x, l.heads*l.dk, l.o.Bool("beta_bias"))), l.heads)
		if l.o.Bool("neg_eigval") {
			b = MulScalar(b, 2)
		}
	}
	if b != nil {
		in.Erase = Mul(b, in.K)
	}
	switch l.o.Word("write") {
	case "tied":
		in.Write = Mul(b, v)
	case "scalar":
		in.Write = Mul(PerHead(Sigmoid(c.Linear("w_proj", x, l.heads, false))), v)
	case "channel":
		in.Write = Mul(Heads(Sigmoid(c.Linear("w_proj", x, l.heads*l.dv, false)), l.heads), v)
	}
	switch l.o.Word("forget") {
	case "scalar":
		in.LogDecay = c.decay(x, l.heads, l.o)
	case "channel":
		in.LogDecay = c.channelDecay(x, l.heads, l.sizes, l.o)
	}
	return c.gated(x, c.Recur(in), l.sizes, l.o)
}
