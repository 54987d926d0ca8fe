package kalman

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/kernels"
	"github.com/kalmarz/kalmarz/layers/scan"
)

// kernel describes the problem to the fused kernels where they are asked for or,
// with an open plan, are the better choice. They carry the mean.
func (in Inputs) kernel(o Options) (k kernels.Scan, ok bool) {
	open := o.Plan == scan.Plan{} && o.Second == Mean
	if !open && !o.Plan.Kernel {
		return k, false
	}
	k, err := in.describe(o)
	return k, err == nil && (o.Plan.Kernel || k.Pays())
}

// KernelError says why there are no fused kernels for the problem; nil if there
// are.
func (in Inputs) KernelError(o Options) error {
	_, err := in.describe(o)
	return err
}

func (in Inputs) describe(o Options) (k kernels.Scan, err error) {
	in.check()
	if err := kernels.Missing(in.V.Graph().Backend()); err != nil {
		return k, err
	}
	d := in.V.Shape().Dimensions
	return kernels.NewKalman(d[0], d[1], d[2], in.K.Shape().Dim(2), o.Plan.Chunks, in.V.DType(),
		kernels.Kalman{Variance: o.Variance, Prior: o.Prior}, in.Mask != nil)
}

// fused evaluates the filter by kernels.
func fused(in Inputs, k kernels.Scan) Outputs {
	s := in.state()
	xs := []*Node{in.V, in.Precision, in.K, in.Q}
	for _, x := range []*Node{in.A, in.P, s.Lambda, s.Eta, in.Mask} {
		if x != nil {
			xs = append(xs, ConvertDType(x, dtypes.Float32))
		}
	}
	ys, last := k.Apply(xs...)
	out := Outputs{Y: ys[0], State: State{last[0], last[1]}}
	if len(ys) > 1 {
		out.YVar = ys[1]
	}
	return out
}
