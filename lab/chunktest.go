package lab

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/kernels"
	"github.com/kalmarz/kalmarz/layers/triton"
)

// chunkLengths reads chunk lengths with commas.
func chunkLengths(text string) (out []int, err error) {
	if text == "" {
		return nil, nil
	}
	out, ok := powersOfTwo(text, 1024)
	if !ok {
		return nil, fmt.Errorf("--chunks %s: must be powers of two up to 1024 with commas", text)
	}
	return out, nil
}

// chunkForms are the graph forms with chunks of some lengths, in float32 and in
// bfloat16 throughout. The latter is what fused kernels do too, and may be as far
// from float64 as they.
func chunkForms(chunks []int) (forms []testForm) {
	narrow := kernels.Find("delta").Tolerance[triton.BF16]
	for _, C := range chunks {
		forms = append(forms,
			testForm{name: fmt.Sprintf("chunk %d", C), dtype: dtypes.Float32, form: delta.Form{Chunk: C}, value: 2e-5, gradient: 2e-4},
			testForm{name: fmt.Sprintf("chunk %d, narrow", C), dtype: dtypes.BFloat16, form: delta.Form{Chunk: C, Narrow: true}, value: narrow.Value, gradient: narrow.Gradient})
	}
	return forms
}

// chunkTest measures the recurrence behind the mixers by chunk length against its
// plain float64 form in Go, on rounded inputs, with losses on outputs, final state
// and written values. The last chunk is not full.
func chunkTest(ctx context.Context, be compute.Backend, chunks []int, tell func(TestRow)) error {
	const B, H, K, V = 2, 2, 32, 16
	T := 150
	for _, C := range chunks {
		T = max(T, C+C/4)
	}
	rng := rand.New(rand.NewPCG(51, 52))
	for _, p := range recurrences(K) {
		a := delta.Random(rng, B, T, H, K, V, p.decays, p.strength, p.erase)
		d := deltaLoss(rng, a)
		roundAll(triton.BF16, a.Q, a.Key, a.Write, a.Erase, a.LogDecay, a.State, d.O, d.State, d.U)
		evaluate, err := againstReference(be, a, d)
		if err != nil {
			return err
		}
		if err := walkForms(ctx, p.name, chunkForms(chunks), func(*testForm) bool { return true }, evaluate, tell); err != nil {
			return err
		}
	}
	return nil
}
