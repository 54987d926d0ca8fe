package kernels

import (
	"fmt"
	"math"
	"os"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/kalmarz/kalmarz/layers/triton"
)

// EnvVar turns the kernels off if it is "off".
const EnvVar = "KALMARZ_KERNELS"

// Off tells whether KALMARZ_KERNELS=off.
func Off() bool { return os.Getenv(EnvVar) == "off" }

// Caller adds a function's call to a graph.
type Caller func(f *Function, xs []*graph.Node) []*graph.Node

var devices sync.Map // Caller by backend

// Use declares that a backend has kernels: programs of it go through Rewrite on
// the way to the compiler. Another caller than Call is for tests.
func Use(be compute.Backend, c Caller) { devices.Store(be, c) }

// Forget ends what Use began.
func Forget(be compute.Backend) { devices.Delete(be) }

// On tells whether graphs of this backend can call kernels.
func On(be compute.Backend) bool {
	_, on := devices.Load(be)
	return on && !Off()
}

// Missing says that graphs of this backend cannot call kernels; nil if they can.
func Missing(be compute.Backend) error {
	if On(be) {
		return nil
	}
	return fmt.Errorf("backend %s has no fused kernels, or they are off", be.Name())
}

// call adds a call of f to the graph of xs, which are its inputs in order.
func (f *Function) call(xs ...*graph.Node) []*graph.Node {
	for i, x := range xs {
		if want := shapeOf(f.In[i]); !x.Shape().Equal(want) {
			exceptions.Panicf("kernels: %s: %s is %s, expected %s", f.Name, f.In[i].Name, x.Shape(), want)
		}
	}
	c, on := devices.Load(xs[0].Graph().Backend())
	if !on {
		exceptions.Panicf("kernels: %s: backend %s has no kernels", f.Name, xs[0].Graph().Backend().Name())
	}
	return c.(Caller)(f, xs)
}

// Call adds a call of the function, which it defines in the graph the first time.
func Call(f *Function, xs []*graph.Node) []*graph.Node {
	called.Store(f.Name, f)
	g := xs[0].Graph()
	type key string
	named, _ := g.State(key(f.Name)).(*graph.Function)
	if named == nil {
		named = graph.NewFunction(g, f.Name, func(g *graph.Graph) []*graph.Node {
			for _, a := range f.In {
				graph.Parameter(g, a.Name, shapeOf(a))
			}
			var out []*graph.Node
			for _, a := range f.Out {
				nan := graph.ConstAsDType(g, dtypeOf(a.DType), math.NaN())
				out = append(out, graph.BroadcastToDims(nan, a.Dims...))
			}
			return out
		})
		g.AttachState(key(f.Name), named)
	}
	return named.Call(xs...)
}

func shapeOf(a triton.Argument) shapes.Shape { return shapes.Make(dtypeOf(a.DType), a.Dims...) }

// typeOf is the type of a kernel's tiles for that of a graph, or an error of what has
// none.
func typeOf(what string, dtype dtypes.DType) (triton.DType, error) {
	switch dtype {
	case dtypes.BFloat16:
		return triton.BF16, nil
	case dtypes.Float32:
		return triton.F32, nil
	}
	return 0, fmt.Errorf("kernels: %s: %s: must be bfloat16 or float32", what, dtype)
}

func dtypeOf(d triton.DType) dtypes.DType {
	if d == triton.BF16 {
		return dtypes.BFloat16
	}
	return dtypes.Float32
}
