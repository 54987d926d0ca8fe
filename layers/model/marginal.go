package model

// The Monte-Carlo readout of a model whose last mixer is a Kalman filter
// (arXiv 2602.10743): what follows the mixer is averaged over its belief,
//
//	log p = log 1/N Σ_n softmax(f(μ + σ ε_n))        ε_n ~ N(0, 1)
//
// where μ is the residual stream after the last mixer, σ² the variance of the
// mixer's output and f the last MLP, the final norm and the head. Without the
// average this is Apply followed by a softmax.

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/param"
)

// Marginal maps tokens [B,T] to log-probabilities [B,T,V], averaged over the N
// samples that noise [N,B,T,D], independent and standard normal, makes, and to
// the layers' states after the tokens. Gradients reach the variance. It panics
// if the last mixer offers none.
func (m *Model) Marginal(s param.Scope, form delta.Form, tokens *Node, states []mixer.State, noise *Node) (*Node, []mixer.State) {
	last := len(m.mixers) - 1
	var variance *Node
	p := m.pass(func(layer int) func(string, *Node) {
		if layer != last {
			return nil
		}
		return func(name string, value *Node) {
			if name == "variance" {
				variance = value
			}
		}
	})
	h, after := m.trunk(s, form, tokens, states, p)
	if variance == nil {
		exceptions.Panicf("model: mixer %s of the last block has no variance to sample from", m.Layers[last].Mixer)
	}
	B, T, D := h.Shape().Dim(0), h.Shape().Dim(1), h.Shape().Dim(2)
	if noise.Rank() != 4 || noise.Shape().CheckDims(noise.Shape().Dim(0), B, T, D) != nil {
		exceptions.Panicf("model: noise is %s, expected dimensions [N %d %d %d]", noise.Shape(), B, T, D)
	}
	N := noise.Shape().Dim(0)
	deviation := ConvertDType(Sqrt(MaxScalar(grad.Wide(variance), 1e-12)), h.DType()) // the root has no slope at 0
	samples := Add(InsertAxes(h, 0), Mul(ConvertDType(noise, h.DType()), InsertAxes(deviation, 0)))
	p.repeat(N)
	logits := grad.Wide(m.finish(s, Reshape(samples, N*B, T, D), p))
	return logMean(Reshape(LogSoftmax(logits), N, B, T, -1)), after
}

// logMean is the logarithm of the mean of exp(x) over the first axis.
func logMean(x *Node) *Node {
	top := StopGradient(ReduceMax(x, 0))
	mean := ReduceMean(Exp(Sub(x, InsertAxes(top, 0))), 0)
	return Add(Log(mean), top)
}
