package mixer

// Mamba, arXiv 2312.00752: h_t = exp(Δ_t A) h_{t-1} + Δ_t B_t x_t, y_t = Σ_s C_t h_t,
// a step Δ = softplus(...) for each token and channel and a decay A < 0 for each
// channel and state, which starts as -1, -2, ..., -S.

import (
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
	"github.com/kalmarz/kalmarz/layers/param"
	"github.com/kalmarz/kalmarz/layers/ssm"
)

var mambaKind = &Kind{
	Name: "mamba", Paper: "2312.00752", Doc: "selective scan: a decay for each channel and state, tied to the step",
	Options: join(selectiveOptions(), option.Set{
		{Name: "dt", Kind: option.Word, Default: "0.001:0.1", Help: "range lo:hi in which initial steps are drawn, log-uniform; what is below 1e-4 becomes 1e-4"},
	}),
	New: func(d int, o option.Values) (Layer, error) {
		s, err := newSelective(d, o)
		if err != nil {
			return nil, err
		}
		lo, hi, err := stepRange(o.Word("dt"))
		return &mamba{s, lo, hi}, err
	},
}

type mamba struct {
	selective
	dtLow, dtHigh float64
}

func (l *mamba) Apply(c *Context, x *Node) *Node {
	logA := grad.Wide(c.Get("A_log", param.Vector, func(_ *rand.Rand, out []float64) {
		for i := range out {
			out[i] = math.Log(float64(1 + i%l.S))
		}
	}, l.M, l.S))
	return l.apply(c, x, param.StepSize(l.dtLow, l.dtHigh), func(x, step, in, out, state *Node) (y, last *Node) {
		step = grad.SoftPlus(step)
		c.offer("step", func() *Node { return step })
		return ssm.Mamba(ssm.MambaInputs{X: x, Step: step, A: Neg(Exp(logA)), In: in, Out: out, State: state},
			Plan(c.Form, x.Shape().Dim(1)))
	})
}
