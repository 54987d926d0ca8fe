package kernels_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kalmarz/kalmarz/layers/attention"
	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/kernels"
	"github.com/kalmarz/kalmarz/layers/triton"
)

// Plans whose blocks are as long as turns, longer and shorter.
var cuts = []kernels.AttentionPlan{
	{Forward: kernels.Cut{Rows: 16, Turn: 16, Warps: 4, Stages: 2}, Queries: kernels.Cut{Rows: 16, Turn: 16, Warps: 4, Stages: 2}, Keys: kernels.Cut{Rows: 16, Turn: 16, Warps: 4, Stages: 2}},
	{Forward: kernels.Cut{Rows: 64, Turn: 16, Warps: 4, Stages: 2}, Queries: kernels.Cut{Rows: 32, Turn: 16, Warps: 4, Stages: 2}, Keys: kernels.Cut{Rows: 16, Turn: 32, Warps: 4, Stages: 2}},
	{Forward: kernels.Cut{Rows: 16, Turn: 64, Warps: 4, Stages: 2}, Queries: kernels.Cut{Rows: 16, Turn: 32, Warps: 4, Stages: 2}, Keys: kernels.Cut{Rows: 64, Turn: 16, Warps: 4, Stages: 2}},
}

// checkAttention compares all results of a problem with the reference; inputs are
// rounded to its type first. A softmax that is saturated passes next to nothing on
// to q and k, a difference of large numbers, which then must be finite.
func checkAttention(t *testing.T, rng *rand.Rand, p *attention.Arrays, dtype triton.DType, plan kernels.AttentionPlan, saturated bool) {
	t.Helper()
	do := check.Random(rng, 1, len(p.Q)).Values
	for _, x := range [][]float64{p.Q, p.Key, p.Value, do} {
		copy(x, round(dtype, x))
	}
	o, err := attention.Reference(p)
	if err != nil {
		t.Fatal(err)
	}
	d, err := attention.ReferenceGradient(p, do)
	if err != nil {
		t.Fatal(err)
	}
	a := kernels.Attention{B: p.B, T: p.T, H: p.H, J: p.J, K: p.K, Window: p.Window, Scale: 1 / math.Sqrt(float64(p.K)), DType: dtype, Plan: plan}
	name := fmt.Sprintf("T=%d H=%d J=%d K=%d window=%d %s", p.T, p.H, p.J, p.K, p.Window, dtype)
	run := func(f *kernels.Function, there map[string]*triton.Buffer) map[string]*triton.Buffer {
		out, err := f.Run(there)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return out
	}
	arrays := map[string]*triton.Buffer{"q": triton.FromFloat64(dtype, p.Q, p.B, p.T, p.H, p.K), "do": triton.FromFloat64(dtype, do, p.B, p.T, p.H, p.K),
		"k": triton.FromFloat64(dtype, p.Key, p.B, p.T, p.J, p.K), "v": triton.FromFloat64(dtype, p.Value, p.B, p.T, p.J, p.K)}
	arrays = run(a.Backward(), run(a.Forward(), arrays))
	limit := kernels.Find("attention").Tolerance[dtype]
	for _, x := range []struct {
		name  string
		want  []float64
		limit float64
	}{{"o", o, limit.Value}, {"dq", d.Q, limit.Gradient}, {"dk", d.Key, limit.Gradient}, {"dv", d.Value, limit.Gradient}} {
		e := check.RelErr(arrays[x.name].Float64(), x.want)
		if saturated && (x.name == "dq" || x.name == "dk") {
			x.limit = math.MaxFloat64
		}
		if !(e <= x.limit) {
			t.Errorf("%s, plan %v: %s is off by %.1e, more than %.0e", name, plan, x.name, e, x.limit)
		} else {
			t.Logf("%s: %s %.1e", name, x.name, e)
		}
	}
}

func TestAttention(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, dtype := range []triton.DType{triton.BF16, triton.F32} {
		for i, c := range []struct{ T, H, J, K, window int }{
			{1, 1, 1, 16, 0}, {64, 2, 2, 32, 0}, {70, 4, 4, 16, 0}, {70, 4, 2, 16, 0}, {50, 4, 1, 16, 0},
			{70, 2, 2, 16, 7}, {100, 2, 1, 16, 16}, {100, 2, 2, 16, 41}, {70, 4, 2, 16, 1}, {64, 1, 1, 16, 64},
		} {
			for j, plan := range cuts {
				if dtype == triton.BF16 || (i+j)%2 == 0 { // the loops are the same
					checkAttention(t, rng, attention.Random(rng, 1+i%2, c.T, c.H, c.J, c.K, c.window), dtype, plan, false)
				}
			}
		}
	}
}

// Scores so large that e to them is beyond float32, of one sign and of both, rising
// and falling with the keys. Their own rounding counts: of float32 inputs they are
// smaller.
func TestLargeScores(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for _, dtype := range []triton.DType{triton.BF16, triton.F32} {
		for _, slope := range []float64{1, -1, 0} { // 0: of both signs
			p := attention.Random(rng, 1, 70, 2, 1, 16, 0)
			size := map[triton.DType]float64{triton.BF16: 2000, triton.F32: 64}[dtype]
			for i := range p.Q {
				if i%16 == 0 {
					p.Q[i] = 4 // the score is the key's entry
				}
			}
			for i := range p.Key {
				if i%16 == 0 {
					if token := float64(i / 16); slope != 0 {
						p.Key[i] = size * (1 + slope*(token/70-0.5))
					} else {
						p.Key[i] *= size / 3
					}
				}
			}
			checkAttention(t, rng, p, dtype, cuts[0], true)
		}
	}
}
