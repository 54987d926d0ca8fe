package ssm

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/kernels"
	"github.com/kalmarz/kalmarz/layers/scan"
)

// describer is kernels.NewMamba or kernels.NewLonghorn.
type describer func(B, T, M, S, chunks int, dtype dtypes.DType) (kernels.Scan, error)

// fused evaluates a scan of tokens x and statics w by kernels, where they are asked
// for or, with an open plan, are the better choice, and the backend has them. Tokens
// of several types count as float32.
func (d sizes) fused(describe describer, plan scan.Plan, like *Node, x, w []*Node, state *Node) (y, last *Node, ok bool) {
	if open := plan == (scan.Plan{}); !open && !plan.Kernel || !kernels.On(like.Graph().Backend()) {
		return nil, nil, false
	}
	dtype := like.DType()
	for _, n := range x {
		if n.DType() != dtype {
			x = grad.Each(x, grad.Wide)
			dtype = x[0].DType()
			break
		}
	}
	k, err := describe(d.B, d.T, d.M, d.S, plan.Chunks, dtype)
	if err != nil || !plan.Kernel && !k.Pays() {
		return nil, nil, false
	}
	in := append([]*Node{}, x...)
	for _, n := range append(append([]*Node{}, w...), d.state(x[0], state)) {
		in = append(in, ConvertDType(n, dtypes.Float32))
	}
	ys, s := k.Apply(in...)
	return ConvertDType(ys[0], like.DType()), s[0], true
}
