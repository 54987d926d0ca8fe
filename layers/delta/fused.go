package delta

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/kernels"
)

// kernel describes the problem to the fused kernels, if the graph's backend has
// them and they can take it.
func (in Inputs) kernel() (k kernels.Delta, ok bool) {
	k, err := in.describe()
	return k, err == nil
}

// KernelError says why there are no fused kernels for the problem; nil if there
// are.
func (in Inputs) KernelError() error {
	_, err := in.describe()
	return err
}

func (in Inputs) describe() (k kernels.Delta, err error) {
	if err := kernels.Missing(in.Q.Graph().Backend()); err != nil {
		return k, err
	}
	d := in.Q.Shape().Dimensions
	return kernels.NewDelta(d[0], d[1], d[2], d[3], in.Write.Shape().Dim(3), in.Q.DType(), kernels.Parts{
		Erases: in.Erase != nil, Shared: in.Erase == in.K, Rated: in.Rate != nil, Decays: in.LogDecay != nil,
		Channels: in.LogDecay != nil && in.LogDecay.Rank() == 4})
}

// fused evaluates the recurrence by kernels.
func fused(in Inputs, k kernels.Delta) Outputs {
	wide := func(x *Node) *Node {
		if x == nil {
			return nil
		}
		return grad.Wide(x)
	}
	rate := wide(in.Rate)
	o, last, u := k.Apply(in.Q, in.K, in.Erase, in.Write, rate, wide(in.LogDecay), in.state())
	if rate != nil {
		u = ConvertDType(Mul(grad.Wide(u), InsertAxes(rate, -1)), u.DType())
	}
	return Outputs{O: o, State: last, U: u}
}

// Unrated moves the rates into the erase and write vectors.
func (in Inputs) Unrated() Inputs {
	if in.Rate == nil {
		return in
	}
	rate := InsertAxes(grad.Wide(in.Rate), -1)
	times := func(x *Node) *Node { return ConvertDType(Mul(rate, grad.Wide(x)), x.DType()) }
	if in.Erase != nil {
		in.Erase = times(in.Erase)
	}
	in.Write, in.Rate = times(in.Write), nil
	return in
}
