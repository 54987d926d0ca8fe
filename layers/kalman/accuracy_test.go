package kalman

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"

	"github.com/kalmarz/kalmarz/layers/check"
)

// Float32 errors of the two forms of the second recurrence against float64,
// over long sequences: filters as they start in a layer, well-observed ones,
// regression, and nearly no noise. The package comment states what this logs.
func TestSecondRecurrence(t *testing.T) {
	onPureGo(t)
	rate := func(rng *rand.Rand) float64 { return math.Exp(math.Log(1e-3) + rng.Float64()*math.Log(100)) }
	for _, c := range []struct {
		name         string
		set          func(rng *rand.Rand, a *Arrays, i int)
		out, grad    float64 // tolerances
		meanIsBetter bool    // in the gradients
	}{
		{"as initialised", func(rng *rand.Rand, a *Arrays, i int) {
			a.A[i], a.P[i], _ = OU.ReferenceDiscretise(1, rate(rng), 0.01)
		}, 2e-5, 2e-4, true},
		{"well observed", func(*rand.Rand, *Arrays, int) {}, 2e-6, 2e-6, false},
		{"regression", func(_ *rand.Rand, a *Arrays, i int) { a.A[i], a.P[i] = 1, 0 }, 2e-5, 2e-5, false},
		// Precisions of 1e12 and gradients to a noise of 1e-12 lose digits.
		{"no noise", func(rng *rand.Rand, a *Arrays, i int) {
			a.A[i], a.P[i], _ = None.ReferenceDiscretise(1, rate(rng), 0)
		}, 1e-4, 1e-2, true},
	} {
		rng := rand.New(rand.NewPCG(20, 21))
		a := Random(rng, 1, 2048, 8, 16, true)
		for i := range a.A {
			c.set(rng, a, i)
		}
		for _, x := range a.list() { // both see the same numbers
			for i := range x {
				x[i] = float64(float32(x[i]))
			}
		}
		w := weightsOf(a)
		clear(w.Lambda)
		clear(w.Eta)
		want, err := Reference(a, false)
		if err != nil {
			t.Fatal(err)
		}
		wantGrad, err := ReferenceGradient(a, false, w)
		if err != nil {
			t.Fatal(err)
		}
		var errors [2]float64
		for _, second := range []Second{Mean, Information} {
			out, g := evaluate(t, a, Options{Second: second}, w, dtypes.Float32)
			eo := report(t, c.name+" "+second.String(), out.list(), want.list(), c.out)
			errors[second] = report(t, c.name+" "+second.String()+" gradient", g.list(), wantGrad.list(), c.grad)
			t.Logf("%-14s %-11s y %.1e, all outputs %.1e, gradients %.1e", c.name, second, check.RelErr(out.Y, want.Y), eo, errors[second])
		}
		if c.meanIsBetter && !(errors[Mean] < errors[Information]) {
			t.Errorf("%s: gradient errors %.2g by the mean, %.2g by η: expected the mean to be better", c.name, errors[Mean], errors[Information])
		}
	}
}
