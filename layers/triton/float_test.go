package triton

import "testing"

func TestFloats(t *testing.T) {
	x := []float64{1, -2, 0.25, 0, 8, -0.5, 3, 10}
	got := apply(t, x, 2, 4, F32, func(x *Tile) *Tile { return x.NotZero().Where(x.Reciprocal(), 7) })
	for i, want := range []float32{1, -0.5, 4, 7, 0.125, -2, 1. / 3, 0.1} {
		if got[i] != want {
			t.Errorf("number %d is %g, expected %g", i, got[i], want)
		}
	}
}
