package lab

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/kernels"
	"github.com/kalmarz/kalmarz/layers/triton"
)

// kernelTest measures the fused kernels against the recurrence in float64 Go, with
// losses on outputs, final state and written values; inputs are rounded first, so
// that only the kernels' own rounding counts.
func kernelTest(ctx context.Context, be compute.Backend, tell func(TestRow)) error {
	if !kernels.On(be) {
		return nil
	}
	const B, H = 2, 2
	rng := rand.New(rand.NewPCG(41, 42))
	for _, p := range []struct {
		name     string
		T        int
		width    int // of keys and values
		decays   int // a token and head: 0, 1 or width
		strength float64
		erase    bool
		change   func(a *delta.Arrays)
	}{
		{"delta rule", 150, 64, 0, 0, true, nil},
		{"delta rule by rates", 150, 64, 0, 0, true, byRate},
		{"delta by rates, a decay a head", 150, 128, 1, 0.5, true, byRate},
		{"delta by rates, strong decay", 150, 64, 1, 20, true, byRate},
		{"delta, a decay a head", 150, 128, 1, 0.5, true, nil},
		{"delta, wide heads", 150, 256, 1, 0.5, true, nil},
		{"delta, strong decay", 150, 64, 1, 20, true, nil},
		{"delta, one key, overwritten", 150, 64, 0, 0, true, sameKeys},
		{"delta by rates, a long sequence", 2100, 64, 1, 0.1, true, byRate}, // in segments
		{"additive, a long sequence", 2100, 64, 1, 0.1, false, nil},
		{"delta by rates, a decay a channel, a long sequence", 2100, 64, 64, 0.1, true, byRate},
		{"additive, a decay a channel, a long sequence", 2100, 64, 64, 0.1, false, nil},
		{"additive", 150, 64, 0, 0, false, nil},
		{"additive, a decay a head", 150, 128, 1, 0.5, false, nil},
		{"delta by rates, a decay a channel", 150, 128, 128, 0.5, true, byRate},
		{"delta, a decay a channel", 150, 64, 64, 0.5, true, nil},
		{"delta, a strong decay a channel", 150, 64, 64, 20, true, nil},
		{"additive, a decay a channel", 150, 64, 64, 0.5, false, nil},
	} {
		for _, dtype := range []triton.DType{triton.BF16, triton.F32} {
			if dtype == triton.F32 && p.width > 64 {
				continue // compilers take minutes
			}
			if dtype == triton.F32 && p.decays == p.width && !p.erase {
				continue // has no kernels
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			a := delta.Random(rng, B, p.T, H, p.width, p.width, p.decays, p.strength, p.erase)
			if p.change != nil {
				p.change(a)
			}
			d := deltaLoss(rng, a)
			roundAll(dtype, a.Q, a.Key, a.Write, a.Erase, a.Rate, a.LogDecay, a.State, d.O, d.State, d.U)
			evaluate, err := againstReference(be, a, d)
			if err != nil {
				return err
			}
			tell(kernelForm("delta", dtype).measure(p.name, evaluate))
		}
	}
	return nil
}

func byRate(a *delta.Arrays) { a.ByRate(rand.New(rand.NewPCG(43, 44))) }

// sameKeys gives all tokens one key and replaces its value each time: β = 1, where
// a series in place of the inverse would lose all digits.
func sameKeys(a *delta.Arrays) {
	key := slices.Clone(a.Key[:a.K])
	for i := range len(a.Key) / a.K {
		copy(a.Key[i*a.K:], key)
		copy(a.Erase[i*a.K:], key)
	}
}

// kernelForm is the fused kernels of an operation, with its tolerance.
func kernelForm(operation string, dtype triton.DType) testForm {
	limit := kernels.Find(operation).Tolerance[dtype]
	f := testForm{name: "kernel", dtype: dtypes.Float32, form: delta.Form{Kernel: true}, value: limit.Value, gradient: limit.Gradient}
	if dtype == triton.BF16 {
		f.dtype = dtypes.BFloat16
	}
	return f
}

// roundAll rounds the numbers of arrays to a type.
func roundAll(dtype triton.DType, arrays ...[]float64) {
	for _, x := range arrays {
		copy(x, triton.FromFloat64(dtype, x, len(x)).Float64())
	}
}
