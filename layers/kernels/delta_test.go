package kernels_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/kernels"
	"github.com/kalmarz/kalmarz/layers/triton"
)

// problem is a random problem and its kernels, with inputs rounded as the kernels
// read them.
type problem struct {
	name string
	a    *delta.Arrays
	d    kernels.Delta
}

func newProblem(rng *rand.Rand, T, K, V, C int, erases, decays bool, dtype triton.DType, strength float64) problem {
	const B, H = 2, 2
	n := 0
	if decays {
		n = 1
	}
	a := delta.Random(rng, B, T, H, K, V, n, strength, erases)
	for _, x := range [][]float64{a.Q, a.Key, a.Write, a.Erase} {
		copy(x, triton.FromFloat64(dtype, x, len(x)).Float64())
	}
	for _, x := range [][]float64{a.LogDecay, a.State} {
		copy(x, triton.FromFloat64(triton.F32, x, len(x)).Float64())
	}
	return problem{fmt.Sprintf("T=%d K=%d V=%d C=%d erases=%v decays=%v %s", T, K, V, C, erases, decays, dtype), a,
		kernels.Delta{B: B, T: T, H: H, K: K, V: V, C: C, DType: dtype, Erases: erases, Decays: decays,
			Plan: kernels.Plan{Columns: 16, Warps: 4, Stages: 2, LocalWarps: 4}}}
}

// inputs are the arrays by the kernels' names.
func (p problem) inputs() map[string]*triton.Buffer {
	all := map[string]*triton.Buffer{}
	for name, x := range map[string][]float64{"q": p.a.Q, "k": p.a.Key, "e": p.a.Erase, "z": p.a.Write, "g": p.a.LogDecay, "first": p.a.State} {
		for _, in := range p.d.Forward().In {
			if in.Name == name {
				all[name] = triton.FromFloat64(in.DType, x, in.Dims...)
			}
		}
	}
	return all
}

// TestDelta compares forward and backward with the float64 recurrence.
func TestDelta(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, dtype := range []triton.DType{triton.BF16, triton.F32} {
		for _, c := range []struct{ T, K, V, C int }{{64, 16, 16, 64}, {37, 32, 16, 16}, {64, 16, 32, 16}, {130, 16, 16, 64}} {
			for _, erases := range []bool{true, false} {
				for _, decays := range []bool{true, false} {
					newProblem(rng, c.T, c.K, c.V, c.C, erases, decays, dtype, 0.5).check(t, rng)
				}
			}
		}
	}
}

// check runs a problem forward and backward and compares all results.
func (p problem) check(t *testing.T, rng *rand.Rand) {
	t.Helper()
	limit := kernels.Registry[0].Tolerance[p.d.DType]
	want, err := delta.Reference(p.a)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.d.Forward().Run(p.inputs())
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	for name, w := range map[string][]float64{"o": want.O, "last": want.State, "u": want.U} {
		p.compare(t, name, got[name], w, limit.Value)
	}
	round := func(dtype triton.DType, n int) []float64 {
		return triton.FromFloat64(dtype, check.Random(rng, 1, n).Values, n).Float64()
	}
	d := &delta.Result{O: round(p.d.DType, len(want.O)), U: round(p.d.DType, len(want.U)), State: round(triton.F32, len(want.State))}
	grad, err := delta.ReferenceGradient(p.a, d)
	if err != nil {
		t.Fatal(err)
	}
	backward := p.d.Backward()
	for _, in := range backward.In {
		if x := map[string][]float64{"do": d.O, "du": d.U, "dlast": d.State}[in.Name]; x != nil {
			got[in.Name] = triton.FromFloat64(in.DType, x, in.Dims...)
		}
	}
	got, err = backward.Run(got)
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	for name, w := range map[string][]float64{"dq": grad.Q, "dk": grad.Key, "de": grad.Erase, "dz": grad.Write, "dg": grad.LogDecay, "dfirst": grad.State} {
		if w != nil {
			p.compare(t, name, got[name], w, limit.Gradient)
		}
	}
}

func (p problem) compare(t *testing.T, name string, got *triton.Buffer, want []float64, limit float64) {
	t.Helper()
	if e := check.RelErr(got.Float64(), want); !(e <= limit) {
		t.Errorf("%s: %s is off by %.1e, more than %.0e", p.name, name, e, limit)
	} else {
		t.Logf("%s: %s %.1e", p.name, name, e)
	}
}
