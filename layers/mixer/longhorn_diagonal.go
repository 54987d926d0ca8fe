package mixer

// Longhorn, arXiv 2407.14207, as its authors run it: in Mamba's block, with one
// implicit step of online regression of x on k for each channel, the state's
// decay kept to its diagonal:
//
//	D_t = s_t / (1 + s_t |k_t|²)    h_t = (1 - D_t k_t²) h_{t-1} + D_t k_t x_t
//
// where s = σ(...) in (0, 1). Keys and queries are linear in x; there is no decay
// besides.

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/option"
	"github.com/kalmarz/kalmarz/layers/param"
	"github.com/kalmarz/kalmarz/layers/ssm"
)

var longhornDiagonalKind = &Kind{
	Name: "longhorn_diagonal", Paper: "2407.14207", Doc: "implicit step s/(1+s‖k‖²) on a diagonal state in Mamba's block",
	Options: selectiveOptions(),
	New: func(d int, o option.Values) (Layer, error) {
		s, err := newSelective(d, o)
		return &longhornDiagonal{s}, err
	},
}

type longhornDiagonal struct{ selective }

func (l *longhornDiagonal) Apply(c *Context, x *Node) *Node {
	return l.apply(c, x, param.Constant(0), func(x, step, k, q, state *Node) (y, last *Node) {
		s := Sigmoid(step)
		c.offer("step", func() *Node { return s })
		return ssm.Longhorn(ssm.LonghornInputs{X: x, Step: s, K: k, Q: q, State: state}, Plan(c.Form, x.Shape().Dim(1)))
	})
}
