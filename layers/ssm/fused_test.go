package ssm

import (
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/kernels/kernelcheck"
	"github.com/kalmarz/kalmarz/layers/scan"
)

// The kernels give the values and the gradients of the graph in float64.
func TestKernelForm(t *testing.T) {
	onPureGo(t)
	rng := rand.New(rand.NewPCG(9, 9))
	for _, T := range []int{1, 21, 48} {
		for name, o := range operators(T) {
			if name == "mlstm" {
				continue
			}
			var w []check.Array
			n := len(o.ins)
			want, err := o.reference(o.values())
			if err != nil {
				t.Fatal(err)
			}
			for _, y := range want {
				w = append(w, check.Random(rng, 1, len(y)))
			}
			flat := func(plan scan.Plan) func(x []*Node) []*Node {
				return func(x []*Node) []*Node {
					ys := o.graph(x, plan)
					return []*Node{Reshape(ys[0], -1), Reshape(ys[1], -1)}
				}
			}
			_, grads, err := check.Gradients(check.Backend(), dtypes.Float64, flat(scan.Plan{}), o.ins, w)
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range grads {
				want = append(want, g.Values)
			}
			for _, chunks := range []int{1, 3} {
				got, calls, err := kernelcheck.Interpret(func(x []*Node) []*Node {
					ys := flat(scan.Plan{Kernel: true, Chunks: chunks})(x[:n])
					loss := Add(ReduceAllSum(Mul(ys[0], x[n])), ReduceAllSum(Mul(ys[1], x[n+1])))
					return append(ys, Gradient(loss, x[:n]...)...)
				}, append(o.ins[:n:n], w...))
				if err != nil {
					t.Fatal(err)
				}
				if len(calls) != 2 {
					t.Errorf("%s: kernels called: %v, expected a forward and a backward pass", name, calls)
				}
				for i, x := range want {
					if e := check.RelErr(got[i], x); !(e <= 5e-6) {
						t.Errorf("%s, T=%d, %d chunks: result %d is off by %.1e", name, T, chunks, i, e)
					}
				}
			}
		}
	}
}
