// Package optim updates parameters from gradients, behind GoMLX's optimiser
// interface, and schedules the learning rate.
package optim

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/layers/option"
	"github.com/kalmarz/kalmarz/layers/param"
)

// AdamW is Adam with decoupled weight decay (arXiv 1711.05101):
//
//	m <- β₁m + (1-β₁)g    v <- β₂v + (1-β₂)g²
//	w <- w - lr (m̂ / (√v̂ + ε) + λw)      m̂ = m/(1-β₁ⁿ), v̂ = v/(1-β₂ⁿ)
//
// λ applies to the variables for which Decays says so.
type AdamW struct {
	LearningRate *Node // scalar, of the graph that is built
	Beta1, Beta2 float64
	Epsilon      float64
	WeightDecay  float64
	Decays       func(v *model.Variable) bool
}

var adamWKind = &Kind{
	Name: "adamw", Doc: "Adam with decoupled weight decay, for all parameters",
	New: func(_ option.Values, s Settings) Optimiser {
		a := s.adamW()
		a.LearningRate = s.Rate
		return a
	},
	Takes: func(option.Values, *param.Entry) bool { return true },
}

// adamW is AdamW as the settings have it.
func (s Settings) adamW() *AdamW {
	return &AdamW{
		LearningRate: s.RestRate, Beta1: s.Beta1, Beta2: s.Beta2, Epsilon: 1e-8,
		WeightDecay: s.WeightDecay, Decays: paths(s.Entries, decays),
	}
}

const adamScope = optimiserScope + "/adamw"

// UpdateGraph adds the update of every trainable variable below the scope.
func (a *AdamW) UpdateGraph(scope *model.Scope, g *Graph, loss *Node) {
	a.UpdateGraphWithGradients(scope, scope.BuildTrainableVariablesGradientsGraph(loss), loss.DType())
}

// UpdateGraphWithGradients is UpdateGraph for gradients that are given, one for
// each trainable variable that the graph uses, in the scope's order.
func (a *AdamW) UpdateGraphWithGradients(scope *model.Scope, grads []*Node, dtype dtypes.DType) {
	update := a.begin(scope.Store(), dtype)
	for i, v := range Trainable(scope, a.LearningRate.Graph()) {
		update(v, grads[i])
	}
}

// begin counts a step and returns the update of one variable.
func (a *AdamW) begin(store *model.Store, dtype dtypes.DType) func(v *model.Variable, grad *Node) {
	g := a.LearningRate.Graph()
	steps := state(store, adamScope+"/steps", nil, dtype)
	n := OnePlus(steps.NodeValue(g))
	steps.SetNodeValue(n)
	one := ScalarOne(g, dtype)
	correct1 := Sub(one, Pow(Scalar(g, dtype, a.Beta1), n))
	correct2 := Sub(one, Pow(Scalar(g, dtype, a.Beta2), n))
	lr := ConvertDType(a.LearningRate, dtype)
	return func(v *model.Variable, grad *Node) {
		w := v.NodeValue(g)
		dims := w.Shape().Dimensions
		mv, vv := state(store, adamScope+"/m"+v.Path(), dims, dtype), state(store, adamScope+"/v"+v.Path(), dims, dtype)
		m := Add(MulScalar(mv.NodeValue(g), a.Beta1), MulScalar(grad, 1-a.Beta1))
		s := Add(MulScalar(vv.NodeValue(g), a.Beta2), MulScalar(Square(grad), 1-a.Beta2))
		mv.SetNodeValue(m)
		vv.SetNodeValue(s)
		step := Div(Div(m, correct1), AddScalar(Sqrt(Div(s, correct2)), a.Epsilon))
		if a.WeightDecay > 0 && a.Decays(v) {
			step = Add(step, MulScalar(w, a.WeightDecay))
		}
		v.SetNodeValue(Sub(w, Mul(lr, step)))
	}
}

// Clear sets the moments and the step count to zero.
func (a *AdamW) Clear(scope *model.Scope) error { return clearState(scope.Store(), adamScope) }
