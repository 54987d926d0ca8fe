package kalman

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/scan"
)

// BenchmarkFilter measures the forms in float32, forward and with the gradients
// of all inputs from a loss on y.
func BenchmarkFilter(b *testing.B) {
	for _, size := range [][4]int{{4, 128, 32, 8}, {4, 256, 128, 16}, {1, 2048, 64, 16}} {
		for _, f := range []struct {
			name string
			plan scan.Plan
		}{
			{"chosen", scan.Plan{}},
			{"loop", scan.Plan{Chunks: 1, Unroll: 16}},
			{"tree", scan.Plan{Chunks: 1, Unroll: 16, Tree: true}},
			{"two-level", scan.Plan{Chunks: 16, Unroll: 16}},
		} {
			for _, backward := range []bool{false, true} {
				a := Random(rand.New(rand.NewPCG(1, 2)), size[0], size[1], size[2], size[3], true)
				b.Run(fmt.Sprintf("B%dT%dM%dS%d/%s/backward=%v", size[0], size[1], size[2], size[3], f.name, backward), func(b *testing.B) {
					_, ins := graphOf(a, Options{})
					exec := MustNewExec(check.Backend(), func(x []*Node) []*Node {
						y := Filter(Inputs{V: x[0], Precision: x[1], K: x[2], Q: x[3], A: x[4], P: x[5], State: State{x[6], x[7]}}, Options{Plan: f.plan}).Y
						if backward {
							return Gradient(ReduceAllSum(y), x...)
						}
						return []*Node{y}
					})
					var args []any
					for _, in := range ins {
						args = append(args, MustExecOnce(check.Backend(), func(x *Node) *Node { return ConvertDType(x, dtypes.Float32) }, in.Tensor()))
					}
					call := func() {
						for _, t := range exec.MustCall(args...) {
							t.MustFinalizeAll()
						}
					}
					call() // compiles
					for b.Loop() {
						call()
					}
				})
			}
		}
	}
}
