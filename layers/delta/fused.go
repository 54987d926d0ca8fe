package delta

import (
	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/kernels"
)

// kernel describes the problem to the fused kernels, if the graph's backend has
// them and they can take it.
func (in Inputs) kernel() (k kernels.Delta, ok bool) {
	if !kernels.On(in.Q.Graph().Backend()) || in.LogDecay != nil && in.LogDecay.Rank() == 4 {
		return k, false
	}
	d := in.Q.Shape().Dimensions
	k, err := kernels.NewDelta(d[0], d[1], d[2], d[3], in.Write.Shape().Dim(3), in.Q.DType(), in.Erase != nil, in.LogDecay != nil)
	return k, err == nil
}

// fused evaluates the recurrence by kernels.
func fused(in Inputs, k kernels.Delta) Outputs {
	g := in.LogDecay
	if g != nil {
		g = grad.Wide(g)
	}
	o, last, u := k.Apply(in.Q, in.K, in.Erase, in.Write, g, in.state())
	return Outputs{O: o, State: last, U: u}
}
