// Package kernelcheck runs graphs that call fused kernels on machines without
// them, for tests.
package kernelcheck

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/kernels"
	"github.com/kalmarz/kalmarz/layers/triton"
)

// Interpret evaluates fn in float32 on a pure-Go backend of its own on which
// kernels are on, and interprets their calls: the graph is built again for each
// call, up to the first one whose results are not known yet, and that one's inputs
// are computed. It returns the outputs and the names of the functions called.
func Interpret(fn func(x []*Node) []*Node, ins []check.Array) (outs [][]float64, calls []string, err error) {
	be, err := compute.NewWithConfig("go:parallelism=-1")
	if err != nil {
		return nil, nil, err
	}
	defer be.Finalize()
	defer kernels.Forget(be)
	var args []any
	for _, in := range ins {
		args = append(args, in.Tensor())
	}
	var known []map[string]*triton.Buffer
	for {
		var next *kernels.Function
		var inputs []*Node
		n := 0
		kernels.Use(be, func(f *kernels.Function, xs []*Node) []*Node {
			if n == len(known) {
				next, inputs = f, xs
				panic(next)
			}
			var ys []*Node
			for _, out := range f.Out {
				b := known[n][out.Name]
				values := ConstTensor(xs[0].Graph(), tensors.FromFlatDataAndDimensions(b.Values, b.Dims...))
				if b.DType == triton.BF16 {
					values = ConvertDType(values, dtypes.BFloat16)
				}
				ys = append(ys, values)
			}
			n++
			return ys
		})
		exec, err := NewExec(be, func(x []*Node) []*Node {
			for i := range x {
				x[i] = ConvertDType(x[i], dtypes.Float32)
			}
			var ys []*Node
			if stop := exceptions.TryCatch[*kernels.Function](func() { ys = fn(x) }); stop != nil {
				ys = inputs
			}
			for i := range ys {
				ys[i] = ConvertDType(ys[i], dtypes.Float64)
			}
			return ys
		})
		if err != nil {
			return nil, nil, err
		}
		results, err := exec.Call(args...)
		if err != nil {
			return nil, nil, err
		}
		outs = nil
		for _, r := range results {
			outs = append(outs, tensors.MustCopyFlatData[float64](r))
		}
		if next == nil {
			return outs, calls, nil
		}
		arrays := map[string]*triton.Buffer{}
		for i, in := range next.In {
			arrays[in.Name] = triton.FromFloat64(in.DType, outs[i], in.Dims...)
		}
		result, err := next.Run(arrays)
		if err != nil {
			return nil, nil, err
		}
		calls, known = append(calls, next.Name), append(known, result)
	}
}
