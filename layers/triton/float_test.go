package triton

import (
	"math"
	"testing"
)

func TestFloats(t *testing.T) {
	x := []float64{1, -2, 0.25, 0, 8, -0.5, 3, 10}
	got := apply(t, x, 2, 4, F32, func(x *Tile) *Tile { return x.NotZero().Where(x.Reciprocal(), 7) })
	for i, want := range []float32{1, -0.5, 4, 7, 0.125, -2, 1. / 3, 0.1} {
		if got[i] != want {
			t.Errorf("number %d is %g, expected %g", i, got[i], want)
		}
	}
}

// The larger and the smaller number are NaN if one is: a clamp hides nothing.
func TestLimitsKeepNaN(t *testing.T) {
	nan := math.NaN()
	got := apply(t, []float64{0, -3, nan, 7}, 2, 2, F32, func(x *Tile) *Tile { return x.Max(-2).Min(2) })
	for i, want := range []float64{0, -2, nan, 2} {
		if v := float64(got[i]); v != want && !(math.IsNaN(v) && math.IsNaN(want)) {
			t.Errorf("number %d is %g, expected %g", i, v, want)
		}
	}
}
