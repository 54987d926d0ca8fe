package mixer

// Longhorn, arXiv 2407.14207, in matrix form: the implicit step of online
// regression, β = s/(1+s‖k‖²) with s = σ(W x), on Gated DeltaNet's decaying
// state with unnormalised keys and queries. The paper's own layer keeps a
// diagonal approximation instead and has no decay of its own.

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
)

var longhornKind = &Kind{
	Name: "longhorn", Paper: "2407.14207", Doc: "implicit step s/(1+s‖k‖²) on a decaying matrix state", Error: WrittenAnd,
	Options: join(headOptions(4, 0.75, 1.5, 4), betaOptions(true), decayOptions(), gateOptions("silu")),
	New: func(d int, o option.Values) (Layer, error) {
		s, err := newSizes(d, o)
		return &longhorn{s, o}, err
	},
}

type longhorn struct {
	sizes
	o option.Values
}

func (l *longhorn) Slots(int) []Slot { return l.slots() }

func (l *longhorn) Apply(c *Context, x *Node) *Node {
	q, k, v := c.qkv(x, l.sizes)
	beta := longhornStep(k, c.beta(x, l.heads, l.o))
	in, undo := freeKeys(q, k, v, beta, c.decay(x, l.heads, l.o))
	return c.gated(x, c.recur(in, beta, undo), l.sizes, l.o)
}

// longhornStep returns s/(1+s‖k‖²) for k [B,T,H,K], s [B,T,H].
func longhornStep(k, s *Node) *Node {
	s = grad.Wide(s)
	return Div(s, OnePlus(Mul(s, ReduceSum(Square(grad.Wide(k)), -1))))
}
