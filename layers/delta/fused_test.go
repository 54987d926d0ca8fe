package delta

import (
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/kernels/kernelcheck"
)

// The kernel form in a graph: named inputs, outputs and gradients reach the
// kernels and come back in their places. The calls are interpreted.
func TestKernelForm(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		decays       int
		erase, state bool
		rates        bool
	}{{1, true, true, false}, {0, true, false, false}, {1, false, false, false}, {0, false, true, false}, {16, true, true, true}, {16, true, false, false}, {16, false, true, false}} {
		a := problem(rng, 1, 70, 2, 16, 32, c.decays, 0.3, c.erase, c.state)
		if c.rates {
			a.ByRate(rng)
		}
		want, wantGrad, w := referenceOf(t, a)
		fn, ins := graphOf(a, func(in Inputs) Outputs { return Run(in, Form{Kernel: true}) })
		got, calls, err := kernelcheck.Interpret(func(args []*Node) []*Node {
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
		if err != nil {
			t.Fatal(err)
		}
		passes := 2
		if c.decays > 1 && !c.erase { // no kernels in float32: the graph form runs
			passes = 0
		}
		if len(calls) != passes {
			t.Errorf("%+v: kernels called: %v, expected %d passes", c, calls, passes)
		}
		for i, x := range append([][]float64{want.O, want.State, want.U}, wantGrad.inputs()...) {
			if e := check.RelErr(got[i], x); !(e < 2e-5) {
				t.Errorf("%+v: result %d is off by %.1e", c, i, e)
			}
		}
	}
}

// TestKernelFormCountsProducts: a fused kernel counts for about the matrix products
// of the graph form, forward and with gradients. That spares the blocks above the
// diagonal, and has those of the inverse.
func TestKernelFormCountsProducts(t *testing.T) {
	for _, erase := range []bool{false, true} {
		a := problem(rand.New(rand.NewPCG(7, 8)), 1, 128, 2, 16, 32, 1, 0.3, erase, false)
		var counts [2][2]float64
		for i, form := range []Form{{Kernel: true}, {Chunk: 64}} {
			fn, ins := graphOf(a, func(in Inputs) Outputs { return Run(in, form) })
			_, _, err := kernelcheck.Interpret(func(xs []*Node) []*Node {
				ys := fn(xs)
				counts[i][0] = grad.ProductFLOPs(xs[0].Graph())
				ys = append(ys, Gradient(ReduceAllSum(Add(ys[0], ys[2])), xs...)...)
				counts[i][1] = grad.ProductFLOPs(xs[0].Graph())
				return ys
			}, ins)
			if err != nil {
				t.Fatal(err)
			}
		}
		for pass, kernel := range counts[0] {
			graph := counts[1][pass]
			if r := kernel / graph; !(r > 0.6 && r < 1.2) {
				t.Errorf("erase %v, pass %d: %g operations, the graph form has %g", erase, pass, kernel, graph)
			}
		}
	}
}
