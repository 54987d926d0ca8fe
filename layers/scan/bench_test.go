package scan

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
)

// BenchmarkArrays measures the scans of materialised maps in float32, forward
// and with all gradients.
func BenchmarkArrays(b *testing.B) {
	for _, size := range [][2]int{{256, 64}, {256, 2048}, {4096, 64}} {
		for m, mapName := range []string{"affine", "moebius"} {
			a := problem(rand.New(rand.NewPCG(1, 2)), size[0], size[1], Map(m))
			for i := range a.A {
				if Map(m) == AffineMap {
					a.A[i] *= 0.9
				}
			}
			for _, f := range []struct {
				name string
				plan Plan
			}{
				{"chosen", Plan{}},
				{"loop", Plan{Chunks: 1, Unroll: 16}},
				{"tree", Plan{Chunks: 1, Tree: true}},
				{"levels", Plan{Chunks: 16, Unroll: 16}},
			} {
				for _, backward := range []bool{false, true} {
					b.Run(fmt.Sprintf("T%dF%d/%s/%s/backward=%v", size[0], size[1], mapName, f.name, backward), func(b *testing.B) {
						fn := graphOf(Map(m), f.plan)
						exec := MustNewExec(check.Backend(), func(x []*Node) []*Node {
							y := fn(x)[0]
							if backward {
								return Gradient(ReduceAllSum(y), x...)
							}
							return []*Node{y}
						})
						var args []any
						for _, in := range a.ins() {
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
}
