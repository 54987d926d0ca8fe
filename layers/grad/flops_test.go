package grad

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
)

// TestProductFLOPs: a product in a loop counts once a turn.
func TestProductFLOPs(t *testing.T) {
	for turns, want := range map[int]float64{1: 2*2*3*4*5 + 2*2*4*4, 7: 2*2*3*4*5 + 7*2*2*4*4} {
		g := NewGraph(check.Backend(), "flops")
		a := Parameter(g, "a", shapes.Make(dtypes.Float32, 2, 3, 5))
		BMM(a, Parameter(g, "b", shapes.Make(dtypes.Float32, 2, 5, 4)))
		x := Parameter(g, "x", shapes.Make(dtypes.Float32, turns, 1, 4, 4))
		s := Parameter(g, "s", shapes.Make(dtypes.Float32, 1, 2, 4))
		Loop{Turns: turns, Reads: []*Node{x}, Carry: []*Node{s}}.Run(func(reads, _, carry []*Node) (next, written []*Node) {
			next = []*Node{NN.Of(carry[0], reads[0])}
			return next, next
		})
		if got := ProductFLOPs(g); got != want {
			t.Errorf("%d turns: %g operations, want %g", turns, got, want)
		}
	}
}
