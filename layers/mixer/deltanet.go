package mixer

// DeltaNet, arXiv 2406.06484: S_t = S_{t-1} + β k (v - S_{t-1}ᵀk)ᵀ with unit
// keys and queries and β = σ(W x) in (0,1), or (0,2) with negative eigenvalues.

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
)

var deltaNetKind = &Kind{
	Name: "deltanet", Paper: "2406.06484", Doc: "delta rule without forgetting", Error: WrittenAnd,
	Options: append(headOptions(4, 1, 1, 4), betaOptions(false)...),
	New: func(d int, o option.Values) (Layer, error) {
		s, err := newSizes(d, o)
		return &deltaNet{s, o}, err
	},
	Family: "deltanet",
	Core: func(in map[string]*Node, _ option.Values) delta.Inputs {
		return deltaRule(in["q"], in["k"], in["v"], in["beta"], nil)
	},
}

type deltaNet struct {
	sizes
	o option.Values
}

func (l *deltaNet) Slots(int) []Slot { return l.slots() }

func (l *deltaNet) Apply(c *Context, x *Node) *Node {
	q, k, v := c.qkv(x, l.sizes)
	beta := c.beta(x, l.heads, l.o)
	o := c.correct(grad.L2(q, 1e-6), grad.L2(k, 1e-6), v, beta, nil)
	return c.output(o, nil, "", l.d)
}

// betaOptions declares the write gate β = σ(W x [+ b]).
func betaOptions(bias bool) option.Set {
	return option.Set{
		{Name: "beta_bias", Kind: option.Bool, Default: bias, Help: "a bias in the write gate, 0 at first"},
		{Name: "neg_eigval", Kind: option.Bool, Default: false, Help: "β in (0,2): the transition may have negative eigenvalues"},
	}
}

// beta returns the write gate [B,T,heads] in float32 or wider.
func (c *Context) beta(x *Node, heads int, o option.Values) *Node {
	b := Sigmoid(grad.Wide(c.Linear("b_proj", x, heads, o.Bool("beta_bias"))))
	if o.Bool("neg_eigval") {
		b = MulScalar(b, 2)
	}
	return ConvertDType(b, x.DType())
}
