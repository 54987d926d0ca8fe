package kalman

import (
	"math"
	"math/rand/v2"

	"github.com/kalmarz/kalmarz/layers/check"
)

// problem makes random inputs: unit keys and queries, a in (0.5, 0.9), p in
// (0.02, 0.06), log-normal precisions.
func problem(rng *rand.Rand, B, T, M, S int, state bool) *Arrays {
	a := &Arrays{B: B, T: T, M: M, S: S}
	a.V = check.Random(rng, 1, B, T, M).Values
	a.K, a.Q = check.Random(rng, 1, B, T, S).Values, check.Random(rng, 1, B, T, S).Values
	for _, x := range [][]float64{a.K, a.Q} {
		for i := 0; i < len(x); i += S {
			n := 0.0
			for _, v := range x[i : i+S] {
				n += v * v
			}
			for j := range S {
				x[i+j] /= math.Sqrt(n)
			}
		}
	}
	positive := func(n int, scale float64) []float64 {
		x := check.Random(rng, scale, n).Values
		for i := range x {
			x[i] = math.Exp(x[i])
		}
		return x
	}
	a.Precision = positive(B*T*M, 1)
	for range M * S {
		a.A = append(a.A, 0.5+0.4*rng.Float64())
		a.P = append(a.P, 0.02+0.04*rng.Float64())
	}
	if state {
		a.Lambda, a.Eta = positive(B*M*S, 0.5), check.Random(rng, 1, B, M, S).Values
	}
	return a
}
