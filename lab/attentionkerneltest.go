package lab

import (
	"context"
	"math/rand/v2"

	"github.com/gomlx/compute"

	"github.com/kalmarz/kalmarz/layers/attention"
	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/kernels"
	"github.com/kalmarz/kalmarz/layers/triton"
)

// attentionKernelTest measures the fused kernels of softmax attention against its
// plain float64 form in Go; inputs are rounded first.
func attentionKernelTest(ctx context.Context, be compute.Backend, tell func(TestRow)) error {
	if !kernels.On(be) {
		return nil
	}
	rng := rand.New(rand.NewPCG(47, 48))
	for _, p := range []struct {
		name       string
		T, H, J, K int
		window     int
		narrow     bool // bfloat16 alone
	}{
		{"attention", 512, 2, 2, 64, 0, false},
		{"attention, ragged", 300, 2, 2, 128, 0, false},
		{"attention, narrow heads", 300, 2, 2, 16, 0, false},
		{"attention, wide heads", 300, 1, 1, 256, 0, true},
		{"attention, shared keys", 256, 4, 1, 64, 0, false},
		{"attention, shared keys, ragged", 300, 4, 2, 128, 0, true},
		{"attention, short window", 512, 2, 2, 64, 20, false},
		{"attention, window, shared keys, ragged", 300, 4, 2, 128, 150, true},
		{"attention, one token", 1, 2, 1, 64, 0, false},
	} {
		for _, dtype := range []triton.DType{triton.BF16, triton.F32} {
			if dtype == triton.F32 && p.narrow {
				continue
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			a := attention.Random(rng, 2, p.T, p.H, p.J, p.K, p.window)
			do := check.Random(rng, 1, len(a.Q)).Values
			roundAll(dtype, a.Q, a.Key, a.Value, do)
			want, err := attention.Reference(a)
			if err != nil {
				return err
			}
			wantGrad, err := attention.ReferenceGradient(a, do)
			if err != nil {
				return err
			}
			f := kernelForm("attention", dtype)
			evaluate := func(do []float64) func(testForm) (errorsOf, error) {
				return func(f testForm) (errorsOf, error) {
					got, grad, err := attention.Evaluate(be, f.dtype, attention.Form{Kernel: true}, a, do)
					return func() (float64, float64, string, string) { return attention.Errors(got, want, grad, wantGrad) }, err
				}
			}
			tell(f.measure(p.name, evaluate(do)))
			f.gradient = 0 // without gradients another kernel runs, which keeps no logarithms
			tell(f.measure(p.name+", values alone", evaluate(nil)))
		}
	}
	return nil
}
