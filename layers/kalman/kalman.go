package kalman

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/scan"
)

// Inputs of the filter. V, Precision, K and Q have one dtype; the filter runs
// and its state is kept in float32, or in float64 if they are float64.
type Inputs struct {
	V         *Node // [B,T,M] observations
	Precision *Node // [B,T,M] their precision Λ, positive
	K, Q      *Node // [B,T,S] what is observed and what is read, for all channels
	A         *Node // [M,S] decay of the latent state per token, in [0, 1]
	P         *Node // [M,S] variance added per token, not negative
	State     State // before the first token; nil arrays stand for λ = 1, η = 0
	Mask      *Node // [B,T], or nil; tokens where it is 0 are padding: no time passes
}

// State is the belief about the latent states: N(η/λ, 1/λ).
type State struct {
	Lambda *Node // [B,M,S] precision λ, positive
	Eta    *Node // [B,M,S] precision times mean η
}

// Outputs of the filter, Y and YVar in the dtype of V.
type Outputs struct {
	Y     *Node // [B,T,M]
	YVar  *Node // [B,T,M], or nil unless asked for
	State State // after the last token
}

// Second names the recurrence that carries the mean.
type Second uint8

// The mean itself, or precision times mean as the equations are written.
const (
	Mean Second = iota
	Information
)

// Options of the filter; the zero value is the filter of the paper without its
// variance output.
type Options struct {
	Prior    bool // read the prediction for the next token, not the filtered state
	Variance bool // return YVar
	Second   Second
	Plan     scan.Plan
}

// Filter runs the filter over the sequence. A single token is a single step.
func Filter(in Inputs, o Options) Outputs {
	in.check()
	if k, ok := in.kernel(o); ok {
		return fused(in, k)
	}
	dtype := in.V.DType()
	state := in.state()
	carried := []*Node{channelsLast(state.Lambda), channelsLast(state.Eta)}
	if o.Second == Mean {
		carried[1] = Div(carried[1], carried[0])
	}
	tokens := []*Node{grad.Wide(in.V), grad.Wide(in.Precision), grad.Wide(in.K), grad.Wide(in.Q)}
	statics := []*Node{channelsLast(grad.Wide(in.A)), channelsLast(grad.Wide(in.P))}
	filter := cell(o)
	if in.Mask != nil {
		filter = scan.Masked(filter)
		tokens = append(tokens, InsertAxes(ConvertDType(in.Mask, tokens[0].DType()), -1))
	}
	ys, last := scan.Run(filter, tokens, statics, carried, o.Plan)
	if o.Second == Mean {
		last[1] = Mul(last[1], last[0])
	}
	out := Outputs{Y: ConvertDType(ys[0], dtype), State: State{channelsLast(last[0]), channelsLast(last[1])}}
	if o.Variance {
		out.YVar = ConvertDType(ys[1], dtype)
	}
	return out
}

// channelsLast swaps the last two axes, M and S; and back.
func channelsLast(x *Node) *Node {
	axes := []int{1, 0}
	if x.Rank() == 3 {
		axes = []int{0, 2, 1}
	}
	return TransposeAllAxes(x, axes...)
}

func (in Inputs) state() State {
	s := in.State
	shape := grad.Wide(in.V).Shape().Clone()
	shape.Dimensions = []int{shape.Dim(0), shape.Dim(2), in.K.Shape().Dim(2)}
	if s.Lambda == nil {
		s.Lambda = Ones(in.V.Graph(), shape)
	}
	if s.Eta == nil {
		s.Eta = Zeros(in.V.Graph(), shape)
	}
	return State{grad.Wide(s.Lambda), grad.Wide(s.Eta)}
}

// check panics on shapes that do not fit, naming the input.
func (in Inputs) check() {
	if in.V == nil || in.K == nil {
		exceptions.Panicf("kalman: v and k must be given")
	}
	if in.V.Rank() != 3 || in.K.Rank() != 3 || in.V.Shape().Size() == 0 || in.K.Shape().Size() == 0 {
		exceptions.Panicf("kalman: v %s, k %s: must be [B,T,M] and [B,T,S] with no empty axis", in.V.Shape(), in.K.Shape())
	}
	B, T, M, S := in.V.Shape().Dim(0), in.V.Shape().Dim(1), in.V.Shape().Dim(2), in.K.Shape().Dim(2)
	for _, x := range []struct {
		name               string
		node               *Node
		optional, sequence bool
		dims               []int
	}{
		{"precision", in.Precision, false, true, []int{B, T, M}},
		{"k", in.K, false, true, []int{B, T, S}},
		{"q", in.Q, false, true, []int{B, T, S}},
		{"mask", in.Mask, true, false, []int{B, T}},
		{"a", in.A, false, false, []int{M, S}},
		{"p", in.P, false, false, []int{M, S}},
		{"state lambda", in.State.Lambda, true, false, []int{B, M, S}},
		{"state eta", in.State.Eta, true, false, []int{B, M, S}},
	} {
		switch {
		case x.node == nil && x.optional:
		case x.node == nil:
			exceptions.Panicf("kalman: %s must be given", x.name)
		case x.node.Shape().CheckDims(x.dims...) != nil:
			exceptions.Panicf("kalman: %s is %s, expected dimensions %v (v is %s)", x.name, x.node.Shape(), x.dims, in.V.Shape())
		case x.sequence && x.node.DType() != in.V.DType():
			exceptions.Panicf("kalman: %s is %s, expected the dtype of v, %s", x.name, x.node.DType(), in.V.DType())
		}
	}
}

func (s Second) String() string {
	if s == Mean {
		return "mean"
	}
	return "information"
}
