package delta

import (
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/kernels"
	"github.com/kalmarz/kalmarz/layers/triton"
)

// The kernel form in a graph: named inputs, outputs and gradients reach the
// kernels and come back in their places. The calls are interpreted.
func TestKernelForm(t *testing.T) {
	be, err := compute.NewWithConfig("go:parallelism=-1")
	if err != nil {
		t.Fatal(err)
	}
	defer be.Finalize()
	rng := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		decays       int
		erase, state bool
	}{{1, true, true}, {0, true, false}, {1, false, false}, {0, false, true}} {
		a := problem(rng, 1, 70, 2, 16, 32, c.decays, 0.3, c.erase, c.state)
		want, wantGrad, w := referenceOf(t, a)
		fn, ins := graphOf(a, func(in Inputs) Outputs { return Run(in, Form{Kernel: true}) })
		got, calls := interpreted(t, be, func(args []*Node) []*Node {
			xs, ws := args[:len(ins)], args[len(ins):]
			ys := fn(xs)
			var loss *Node
			for i, y := range ys {
				term := ReduceAllSum(Mul(y, ws[i]))
				if loss == nil {
					loss = term
				} else {
					loss = Add(loss, term)
				}
			}
			return append(ys, Gradient(loss, xs...)...)
		}, append(ins, w...))
		if len(calls) != 2 {
			t.Errorf("%+v: kernels called: %v, expected a forward and a backward pass", c, calls)
		}
		for i, x := range append([][]float64{want.O, want.State, want.U}, wantGrad.inputs()...) {
			if e := check.RelErr(got[i], x); !(e < 2e-5) {
				t.Errorf("%+v: result %d is off by %.1e", c, i, e)
			}
		}
	}
}

// interpreted runs a graph in float32 whose kernel calls are interpreted: it is
// built again for each call, up to the first one whose results are not known yet,
// and that one's inputs are computed.
func interpreted(t *testing.T, be compute.Backend, fn func([]*Node) []*Node, ins []check.Array) (outs [][]float64, calls []string) {
	t.Helper()
	var args []any
	for _, in := range ins {
		args = append(args, in.Tensor())
	}
	var known []map[string]*triton.Buffer
	defer kernels.Forget(be)
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
				ys = append(ys, ConstTensor(xs[0].Graph(), tensors.FromFlatDataAndDimensions(b.Values, b.Dims...)))
			}
			n++
			return ys
		})
		exec := MustNewExec(be, func(x []*Node) []*Node {
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
		results, err := exec.Call(args...)
		if err != nil {
			t.Fatal(err)
		}
		outs = nil
		for _, r := range results {
			outs = append(outs, tensors.MustCopyFlatData[float64](r))
		}
		if next == nil {
			return outs, calls
		}
		arrays := map[string]*triton.Buffer{}
		for i, in := range next.In {
			arrays[in.Name] = triton.FromFloat64(in.DType, outs[i], in.Dims...)
		}
		result, err := next.Run(arrays)
		if err != nil {
			t.Fatal(err)
		}
		calls, known = append(calls, next.Name), append(known, result)
	}
}
