package delta

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
)

// BenchmarkChunked measures the chunked form at B=8, T=128, H=2, K=V=32 in
// float32, alone and with all gradients.
func BenchmarkChunked(b *testing.B) {
	for _, decays := range []int{0, 1, 32} {
		for _, c := range []int{16, 32, 64} {
			for _, backward := range []bool{false, true} {
				b.Run(fmt.Sprintf("decays=%d/C=%d/backward=%v", decays, c, backward), func(b *testing.B) {
					a := problem(rand.New(rand.NewPCG(1, 2)), 8, 128, 2, 32, 32, decays, 0.1, true, false)
					fn, ins := graphOf(a, chunkedBy(c))
					exec := MustNewExec(check.Backend(), func(x []*Node) []*Node {
						outs := fn(x)
						if backward {
							return Gradient(ReduceAllSum(outs[0]), x...)
						}
						return outs[:1]
					})
					var args []any
					for _, in := range ins {
						t, err := MustNewExec(check.Backend(), func(x *Node) *Node { return ConvertDType(x, dtypes.Float32) }).Call1(in.Tensor())
						if err != nil {
							b.Fatal(err)
						}
						args = append(args, t)
					}
					exec.MustCall(args...)
					for b.Loop() {
						for _, t := range exec.MustCall(args...) {
							t.MustFinalizeAll()
						}
					}
				})
			}
		}
	}
}
