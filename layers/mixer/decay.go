package mixer

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
	"github.com/kalmarz/kalmarz/layers/param"
)

// forgotten is a log-decay after which nothing is left in any float type.
const forgotten = 1e4

// stepDecay returns -exp(logA) softplus(x), the log-decay of Mamba-2
// (arXiv 2405.21060) and its descendants, as -exp(logA + ln softplus(x)): the
// product of a huge rate and a tiny step then stays right where one factor
// alone would overflow and the other vanish (∞·0). logA broadcasts to x.
func stepDecay(logA, x *Node) *Node {
	limit := math.Log(forgotten)
	return grad.Custom([]*Node{logA, x}, func(in []*Node) []*Node {
		// Below -37, softplus(x) = eˣ to the last bit of a float64.
		soft := Log(grad.SoftPlus(MaxScalar(in[1], -37)))
		soft = Where(LessThan(in[1], ConstAs(in[1], -37)), in[1], soft)
		return []*Node{Neg(Exp(MinScalar(Add(in[0], soft), limit)))}
	}, func(in, y, d []*Node) []*Node {
		slope := Exp(MinScalar(Add(in[0], grad.LogSigmoid(in[1])), limit))
		return []*Node{reduceTo(Mul(d[0], y[0]), in[0]), Neg(Mul(d[0], slope))}
	})[0]
}

// reduceTo sums x over the axes along which like [1 or n, ...] is broadcast.
func reduceTo(x, like *Node) *Node {
	for i, n := range like.Shape().Dimensions {
		if n == 1 && x.Shape().Dim(i) != 1 {
			x = ReduceAndKeep(x, ReduceSum, i)
		}
	}
	return x
}

// decayOptions declares the constants of stepDecay.
func decayOptions() option.Set {
	return option.Set{
		{Name: "a_init", Kind: option.Float, Default: 16.0, Range: [2]float64{1, 1024}, Help: "A is drawn uniform in [1, a_init)"},
		{Name: "dt_bias", Kind: option.Word, Default: "dt", Choices: []string{"dt", "ones"}, Help: "initial step bias: time steps log-uniform in [1e-3, 1e-1), or ones (nearly no memory at first)"},
	}
}

// decay projects x to a log-decay per head [B,T,n].
func (c *Context) decay(x *Node, n int, o option.Values) *Node {
	return c.decayOf(grad.Wide(c.Linear("a_proj", x, n, false)), n, n, o)
}

// decayOf turns a [B,T,n] into log-decays with n step biases and rates
// constants A, each shared by n/rates neighbours.
func (c *Context) decayOf(a *Node, n, rates int, o option.Values) *Node {
	logA := c.Get("A_log", param.Vector, param.LogUniformA(1, o.Float("a_init")), rates)
	bias := param.StepSize(1e-3, 1e-1)
	if o.Word("dt_bias") == "ones" {
		bias = param.Constant(1)
	}
	a = Add(a, Reshape(grad.Wide(c.Get("dt_bias", param.Vector, bias, n)), 1, 1, n))
	B, T := a.Shape().Dim(0), a.Shape().Dim(1)
	g := stepDecay(Reshape(grad.Wide(logA), 1, 1, rates, 1), Reshape(a, B, T, rates, n/rates))
	return Reshape(g, B, T, n)
}
