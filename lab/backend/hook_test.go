//go:build cgo && (linux || darwin) && !noxla

package backend

import (
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/pjrt"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/kernels"
)

// XLA's compiler for CPUs parses a program with kernels in it and then has no
// implementation for their call, which shows that it got them.
func TestHookRewritesPrograms(t *testing.T) {
	plugins := only(newFinder().find(), "cpu")
	if len(plugins) == 0 {
		t.Skip("no XLA plugin for CPUs")
	}
	l, err := load(plugins[0].Path)
	if err != nil {
		t.Skip(err)
	}
	table := hook(l.api)
	if table == 0 {
		t.Fatal("the table cannot be hooked")
	}
	if err := pjrt.RegisterPreloadedPlugin("/cpu-hooked", table); err != nil {
		t.Fatal(err)
	}
	be, err := xla.New("/cpu-hooked")
	if err != nil {
		t.Fatal(err)
	}
	defer be.Finalize()
	x := MustExecOnce(be, func(g *Graph) *Node { return Add(Const(g, float32(1)), Const(g, float32(2))) })
	if v := x.Value(); v != float32(3) {
		t.Fatalf("a program without kernels gave %v", v)
	}
	kernels.Use(be, kernels.Call)
	defer kernels.Forget(be)
	d, err := kernels.NewDelta(2, 70, 2, 32, 16, dtypes.BFloat16, kernels.Parts{Erases: true, Decays: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, gradients := range []bool{false, true} {
		_, err = ExecOnce(be, func(g *Graph) *Node {
			zeros := func(dtype dtypes.DType, dims ...int) *Node { return Zeros(g, shapes.Make(dtype, dims...)) }
			q, v := zeros(dtypes.BFloat16, 2, 70, 2, 32), zeros(dtypes.BFloat16, 2, 70, 2, 16)
			o, _, _ := d.Apply(q, q, q, v, nil, zeros(dtypes.Float32, 2, 70, 2), zeros(dtypes.Float32, 2, 2, 32, 16))
			loss := ReduceAllSum(ConvertDType(o, dtypes.Float32))
			if gradients {
				return Gradient(loss, v)[0]
			}
			return loss
		})
		if err == nil || !strings.Contains(err.Error(), "__gpu$xla.gpu.triton") {
			t.Errorf("gradients %v: a program with kernels gave %v", gradients, err)
		}
	}

	// Whoever attempts it gets the graph form, and is told once.
	run := func(form delta.Form) (v any, err error) {
		err = kernels.Attempt(be, func() error {
			x, err := ExecOnce(be, func(g *Graph) *Node {
				n := Sin(IotaFull(g, shapes.Make(dtypes.BFloat16, 2, 70, 2, 16)))
				y := delta.Run(delta.Inputs{Q: n, K: n, Write: n, Erase: MulScalar(n, 0.1)}, form)
				return Add(ReduceAllSum(ConvertDType(y.O, dtypes.Float32)), ReduceAllSum(y.State))
			})
			if err == nil {
				v = x.Value()
			}
			return err
		})
		return v, err
	}
	var told []error
	kernels.Watch(be, func(reason error) { told = append(told, reason) })
	got, err := run(delta.Form{Kernel: true})
	want, wantErr := run(delta.Form{Chunk: 64})
	if err != nil || wantErr != nil || got != want || got == float32(0) {
		t.Errorf("after a refusal: %v, %v; the graph form gives %v, %v", got, err, want, wantErr)
	}
	if len(told) != 1 || !strings.Contains(Reason(told[0]), noKernel) || kernels.On(be) {
		t.Errorf("told %v, kernels are on: %v", told, kernels.On(be))
	}
}
