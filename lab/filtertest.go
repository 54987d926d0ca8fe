package lab

import (
	"context"
	"math/rand/v2"

	"github.com/gomlx/compute"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/kalman"
	"github.com/kalmarz/kalmarz/layers/mixer"
)

// filterTest measures the Kalman filter against its plain float64 form in Go,
// with losses on outputs, their variance and the final state.
func filterTest(ctx context.Context, be compute.Backend, tell func(TestRow)) error {
	const B, T, M, S = 2, 70, 6, 5
	rng := rand.New(rand.NewPCG(31, 32))
	for _, p := range []struct {
		name    string
		options kalman.Options
		process func(i int) (a, p float64) // nil: random ones
	}{
		{"filter", kalman.Options{}, nil},
		{"filter, prior readout", kalman.Options{Prior: true}, nil},
		{"filter, by η", kalman.Options{Second: kalman.Information}, nil},
		{"filter, no decay, no noise", kalman.Options{}, func(int) (a, p float64) { return 1, 0 }},
		{"filter, fast decay", kalman.Options{}, func(i int) (a, p float64) { return 0.01 * float64(i%5), 1 }},
	} {
		a := kalman.Random(rng, B, T, M, S, true)
		for i := range a.A {
			if p.process != nil {
				a.A[i], a.P[i] = p.process(i)
			}
		}
		random := func(n int) []float64 { return check.Random(rng, 1, n).Values }
		d := &kalman.Result{Y: random(B * T * M), YVar: random(B * T * M), Lambda: random(B * M * S), Eta: random(B * M * S)}
		want, err := kalman.Reference(a, p.options.Prior)
		if err != nil {
			return err
		}
		wantGrad, err := kalman.ReferenceGradient(a, p.options.Prior, d)
		if err != nil {
			return err
		}
		err = walkForms(ctx, p.name, testForms, func(f *testForm) bool {
			return f.pieces == nil && f.form.Chunk != 64 // one chunk of 64 in 70 tokens is the loop again
		}, func(f testForm) (errorsOf, error) {
			o := p.options
			o.Plan = mixer.Plan(f.form, T)
			got, grad, err := kalman.Evaluate(be, f.dtype, o, a, d)
			return func() (float64, float64, string, string) { return kalman.Errors(got, want, grad, wantGrad) }, err
		}, tell)
		if err != nil {
			return err
		}
	}
	return nil
}
