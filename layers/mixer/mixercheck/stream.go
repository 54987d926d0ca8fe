package mixercheck

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/param"
)

// stream calls the layer once for each piece, as decoding does: the state
// leaves the graph and comes back.
func stream(be compute.Backend, c Case) (Result, error) {
	set := param.NewSet(c.DType, c.Seed, nil)
	slots := c.Layer.Slots(max(c.Room, c.X.Dims[1]))
	exec, err := model.NewExec(be, set.Store, func(_ *model.Scope, in []*Node) []*Node {
		state := make(mixer.State, len(slots))
		for i, s := range slots {
			state[s.Name] = ConvertDType(in[1+i], c.DType)
		}
		y, state := mixer.Apply(c.Layer, mixer.Context{Scope: set.At(in[0].Graph()), Form: c.Form}, ConvertDType(in[0], c.DType), state)
		outs := []*Node{ConvertDType(y, dtypes.Float64)}
		for _, s := range slots {
			outs = append(outs, ConvertDType(state[s.Name], dtypes.Float64))
		}
		return outs
	})
	if err != nil {
		return nil, err
	}
	B, T, D := c.X.Dims[0], c.X.Dims[1], c.X.Dims[2]
	y := check.Array{Dims: c.X.Dims, Values: make([]float64, B*T*D)}
	state := c.state(slots, B)
	at := 0
	for _, n := range c.Pieces {
		x := check.Array{Dims: []int{B, n, D}}
		for b := range B {
			x.Values = append(x.Values, c.X.Values[(b*T+at)*D:(b*T+at+n)*D]...)
		}
		ts, err := exec.Call(append([]any{x.Tensor()}, state...)...)
		if err != nil {
			return nil, err
		}
		values := tensors.MustCopyFlatData[float64](ts[0])
		for b := range B {
			copy(y.Values[(b*T+at)*D:], values[b*n*D:(b+1)*n*D])
		}
		for i := range slots {
			state[i] = ts[1+i]
		}
		at += n
	}
	r := Result{"y": y}
	for i, s := range slots {
		t := state[i].(*tensors.Tensor)
		r["state/"+s.Name] = check.Array{Dims: t.Shape().Dimensions, Values: tensors.MustCopyFlatData[float64](t)}
	}
	exec.Finalize()
	return r, nil
}
