package mixer

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/kalman"
	"github.com/kalmarz/kalmarz/layers/param"
	"github.com/kalmarz/kalmarz/layers/scan"
)

// run filters z [B,T,M] and returns the readout and, if anyone asks for offers,
// its variance, both [B,T,M].
func (l *kalmanLayer) run(c *Context, z *Node) (y, variance *Node) {
	in := l.sensors(c, z)
	in.V = c.channels(in.V)
	in.A, in.P = l.dynamics(c)
	in.State = kalman.State{Lambda: c.Carried("lambda"), Eta: c.Carried("eta")}
	o := l.filter
	o.Variance, o.Plan = c.asked("variance"), Plan(c.Form, z.Shape().Dim(1))
	out := kalman.Filter(in, o)
	c.Keep("lambda", out.State.Lambda)
	c.Keep("eta", out.State.Eta)
	l.observe(c, in)
	if out.YVar != nil {
		variance = ConvertDType(out.YVar, z.DType())
	}
	return ConvertDType(out.Y, z.DType()), variance
}

// dynamics returns the filter's a and p [M,S].
func (l *kalmanLayer) dynamics(c *Context) (a, p *Node) {
	const least = 1e-7
	get := func(name string, role param.Role, init param.Init) *Node {
		return grad.Wide(c.Get(name, role, init, l.M, l.S))
	}
	rate := Exp(get("lambda_log", param.Vector, param.Constant(0)))
	step := AddScalar(grad.SoftPlus(get("delta", param.Vector, param.StepSize(l.dtLow, l.dtHigh))), least)
	if l.process == kalman.None {
		return l.process.Discretise(rate, step, ZerosLike(rate))
	}
	noise, role := l.o.Float("process_noise"), param.Vector
	if !l.o.Bool("learn_noise") {
		role = param.Fixed
	}
	if l.o.Word("noise") == "softplus" {
		p = AddScalar(grad.SoftPlus(get("process_noise", role, param.Constant(noise+math.Log(-math.Expm1(-noise))))), least)
	} else {
		p = MaxScalar(get("process_noise", role, param.Constant(noise)), least)
	}
	if l.clip > 0 {
		p = MinScalar(p, l.clip)
	}
	return l.process.Discretise(rate, step, p)
}

// observe offers what the filter does at each token and channel, as means over
// its states: "precision" λ, and as "peak_precision" its largest; "gain" Λk²/λ,
// the share of the state that the observation replaces; and "state_variance" 1/λ,
// each [B,T,M]. All precisions
// exist at once here, [B,T,M,S]: this is for looking at short sequences.
func (l *kalmanLayer) observe(c *Context, in kalman.Inputs) {
	var lambda, phi *Node
	states := func() *Node {
		if lambda == nil {
			phi = Mul(InsertAxes(in.Precision, -1), InsertAxes(Square(in.K), 2))
			lambda = precisions(in, phi)
		}
		return lambda
	}
	mean := func(x *Node) *Node { return ReduceMean(x, -1) }
	c.offer("precision", func() *Node { return mean(states()) })
	c.offer("peak_precision", func() *Node { return ReduceMax(states(), -1) })
	c.offer("gain", func() *Node { return mean(Div(phi, states())) })
	c.offer("state_variance", func() *Node { return mean(Reciprocal(states())) })
}

// precisions returns λ [B,T,M,S] after each token by the scan of the maps
// λ -> ((1+pφ)λ + a²φ) / (pλ + a²).
func precisions(in kalman.Inputs, phi *Node) *Node {
	B, T, M, S := phi.Shape().Dim(0), phi.Shape().Dim(1), phi.Shape().Dim(2), phi.Shape().Dim(3)
	flat := func(x *Node) *Node { return Reshape(BroadcastToDims(x, B, T, M, S), B, T, M*S) }
	a2, p := InsertAxes(Square(in.A), 0, 0), InsertAxes(in.P, 0, 0)
	all, _ := scan.Moebius(flat(OnePlus(Mul(p, phi))), flat(Mul(a2, phi)), flat(p), flat(a2),
		Reshape(grad.Wide(in.State.Lambda), B, M*S), scan.Plan{})
	return Reshape(all, B, T, M, S)
}
