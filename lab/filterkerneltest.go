package lab

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/kalman"
	"github.com/kalmarz/kalmarz/layers/kernels"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/mixer/mixercheck"
	"github.com/kalmarz/kalmarz/layers/scan"
	"github.com/kalmarz/kalmarz/layers/triton"
)

// filterKernelTest measures the filter's fused kernels against its plain float64
// form in Go, as filterTest does its graphs; inputs are rounded first.
func filterKernelTest(ctx context.Context, be compute.Backend, tell func(TestRow)) error {
	if !kernels.On(be) {
		return nil
	}
	rng := rand.New(rand.NewPCG(43, 44))
	for _, p := range []struct {
		name       string
		B, T, M, S int
		chunks     int
		dtype      triton.DType
		prior      bool
		process    func(i int) (a, p float64) // nil: random ones
	}{
		{"filter", 2, 160, 64, 16, 1, triton.F32, false, nil},
		{"filter", 2, 160, 64, 16, 1, triton.BF16, false, nil},
		{"filter, prior readout, ragged", 2, 150, 27, 5, 1, triton.F32, true, nil},
		{"filter, two levels", 1, 1024, 64, 16, 8, triton.F32, false, nil},
		{"filter, two levels", 1, 1024, 64, 16, 8, triton.BF16, false, nil},
		{"filter, two levels, ragged", 2, 150, 24, 8, 4, triton.F32, false, nil},
		{"filter, prior readout, two levels, ragged", 2, 150, 27, 5, 4, triton.F32, true, nil},
		{"filter, no decay, no noise", 1, 256, 32, 16, 4, triton.F32, false, func(int) (a, p float64) { return 1, 0 }},
		{"filter, fast decay", 1, 256, 32, 16, 1, triton.F32, false, func(i int) (a, p float64) { return 0.01 * float64(i%5), 1 }},
	} {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		a := kalman.Random(rng, p.B, p.T, p.M, p.S, true)
		for i := range a.A {
			if p.process != nil {
				a.A[i], a.P[i] = p.process(i)
			}
		}
		random := func(n int) []float64 { return check.Random(rng, 1, n).Values }
		d := &kalman.Result{Y: random(len(a.V)), YVar: random(len(a.V)), Lambda: random(len(a.Lambda)), Eta: random(len(a.Eta))}
		roundAll(p.dtype, a.V, a.Precision, a.K, a.Q, a.A, a.P, a.Lambda, a.Eta, d.Y, d.YVar)
		want, err := kalman.Reference(a, p.prior)
		if err != nil {
			return err
		}
		wantGrad, err := kalman.ReferenceGradient(a, p.prior, d)
		if err != nil {
			return err
		}
		f, o := kernelForm("kalman", p.dtype), kalman.Options{Prior: p.prior, Plan: scan.Plan{Kernel: true, Chunks: p.chunks}}
		evaluate := func(d *kalman.Result) func(testForm) (errorsOf, error) {
			return func(f testForm) (errorsOf, error) {
				got, grad, err := kalman.Evaluate(be, f.dtype, o, a, d)
				return func() (float64, float64, string, string) { return kalman.Errors(got, want, grad, wantGrad) }, err
			}
		}
		tell(f.measure(p.name, evaluate(d)))
		f.gradient = 0 // without gradients other kernels run, which keep no states
		tell(f.measure(p.name+", values alone", evaluate(nil)))
	}
	return nil
}

// scanMixers are the mixers whose scans have fused kernels beside the filter.
var scanMixers = []string{"mamba", "longhorn_diagonal"}

// scanKernelTest measures mixers whose scans run as fused kernels against their
// float64 graphs on ref.
func scanKernelTest(ctx context.Context, be, ref compute.Backend, kinds []*mixer.Kind, tell func(TestRow)) error {
	if !kernels.On(be) {
		return nil
	}
	const B, T, D = 2, 70, 32
	for _, k := range kinds {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		l, err := mixer.New(k.Name, D, nil)
		if err != nil {
			return err
		}
		c := mixercheck.Case{Layer: l, X: check.Random(rand.New(rand.NewPCG(45, 46)), 1, B, T, D), State: true, Seed: 47,
			DType: dtypes.Float64, Form: delta.Form{Recurrent: true}}
		want, err := mixercheck.Run(ref, c)
		if err != nil {
			return oneLine(fmt.Errorf("%s in float64: %w", k.Name, err))
		}
		f := kernelForm("mamba, longhorn", triton.F32)
		c.DType, c.Form = f.dtype, f.form
		tell(f.measure(k.Name, func(testForm) (errorsOf, error) {
			got, err := mixercheck.Run(be, c)
			return func() (float64, float64, string, string) { return got.Worst(want) }, err
		}))
	}
	return nil
}
