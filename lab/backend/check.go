package backend

import (
	"fmt"
	"math"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// Product multiplies two float32 matrices [size, size] on the backend and returns
// the worst error relative to the largest entry, against float64. Full float32
// gives about 1e-6, TF32 about 5e-4: this is how the setting is seen at work.
func Product(be compute.Backend, size int) (worst float64, took time.Duration, err error) {
	a, b := make([]float32, size*size), make([]float32, size*size)
	state := uint32(1)
	for i := range a {
		for _, to := range []*float32{&a[i], &b[i]} {
			state = state*1664525 + 1013904223 // a linear congruence: the same numbers everywhere
			*to = float32(state>>8)/(1<<24) - 0.5
		}
	}
	start := time.Now()
	out, err := graph.CallOnce(be, func(a, b *graph.Node) *graph.Node { return graph.MatMul(a, b) },
		tensors.FromFlatDataAndDimensions(a, size, size), tensors.FromFlatDataAndDimensions(b, size, size))
	if err != nil {
		return 0, 0, fmt.Errorf("a product [%d,%d]: %s", size, size, oneLine(err))
	}
	got, err := tensors.CopyFlatData[float32](out)
	if err != nil {
		return 0, 0, fmt.Errorf("reading a product [%d,%d]: %s", size, size, oneLine(err))
	}
	took = time.Since(start)
	var largest float64
	for i := range size {
		for j := range size {
			var want float64
			for k := range size {
				want += float64(a[i*size+k]) * float64(b[k*size+j])
			}
			largest = max(largest, math.Abs(want))
			if d := math.Abs(want - float64(got[i*size+j])); !(d <= worst) { // a NaN stays
				worst = d
			}
		}
	}
	return worst / largest, took, nil
}
