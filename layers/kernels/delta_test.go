package kernels_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/kernels"
	"github.com/kalmarz/kalmarz/layers/triton"
)

// problem is a random problem for the kernels and, with the rates moved into the
// erase and write vectors, for the reference. Inputs are rounded as the kernels
// read them.
type problem struct {
	name  string
	d     kernels.Delta
	in    map[string][]float64 // q, k, z, first; e, rate, g where they are
	plain *delta.Arrays
}

func newProblem(rng *rand.Rand, d kernels.Delta, strength float64) problem {
	decays := 0
	if d.Decays {
		decays = 1
	}
	a := delta.Random(rng, d.B, d.T, d.H, d.K, d.V, decays, strength, d.Erases)
	p := problem{d: d, plain: a, in: map[string][]float64{"q": a.Q, "k": a.Key, "z": a.Write, "first": a.State}}
	p.name = fmt.Sprintf("T=%d K=%d V=%d C=%d %+v %s", d.T, d.K, d.V, d.C, d.Parts, d.DType)
	switch {
	case d.Shared:
		p.in["e"] = a.Key
	case d.Erases:
		p.in["e"] = a.Erase
	}
	if d.Decays {
		p.in["g"] = a.LogDecay
	}
	if d.Rated {
		for range d.B * d.T * d.H {
			p.in["rate"] = append(p.in["rate"], 0.2+0.8*rng.Float64())
		}
	}
	for name, x := range p.in {
		p.in[name] = round(p.dtype(name), x)
	}
	p.settle()
	return p
}

// settle makes the reference's inputs from the kernels'.
func (p problem) settle() {
	a := p.plain
	a.Q, a.Key, a.Write, a.Erase, a.State, a.LogDecay = p.in["q"], p.in["k"], p.in["z"], p.in["e"], p.in["first"], p.in["g"]
	a.Write, a.Erase = p.times(a.Write), p.times(a.Erase)
}

// times scales rows by the rates, where there are any.
func (p problem) times(x []float64) []float64 {
	rate := p.in["rate"]
	if rate == nil || x == nil {
		return x
	}
	x = slices.Clone(x)
	for i := range x {
		x[i] *= rate[i/(len(x)/len(rate))]
	}
	return x
}

func (p problem) dtype(name string) triton.DType {
	if slices.Contains([]string{"first", "g", "rate", "dlast"}, name) {
		return triton.F32
	}
	return p.d.DType
}

func round(dtype triton.DType, x []float64) []float64 {
	return triton.FromFloat64(dtype, x, len(x)).Float64()
}

// check runs a problem forward and backward and compares all results.
func (p problem) check(t *testing.T, rng *rand.Rand) {
	t.Helper()
	limit := kernels.Registry[0].Tolerance[p.d.DType]
	want, err := delta.Reference(p.plain)
	if err != nil {
		t.Fatal(err)
	}
	d, seen := map[string][]float64{}, p.d.T%2 == 0
	for name, n := range map[string]int{"do": len(want.O), "dy": len(want.U), "dlast": len(want.State)} {
		d[name] = round(p.dtype(name), check.Random(rng, 1, n).Values)
	}
	if !seen {
		clear(d["dy"])
	}
	y, dU := slices.Clone(want.U), slices.Clone(d["dy"]) // u = rate y
	for i := range y {
		if rate := p.in["rate"]; rate != nil {
			y[i], dU[i] = y[i]/rate[i/p.d.V], dU[i]/rate[i/p.d.V]
		}
	}
	grad, err := delta.ReferenceGradient(p.plain, &delta.Result{O: d["do"], U: dU, State: d["dlast"]})
	if err != nil {
		t.Fatal(err)
	}

	got := p.run(t, p.d.Forward(), p.in, nil)
	for name, w := range map[string][]float64{"o": want.O, "last": want.State, "y": y} {
		p.compare(t, name, got[name], w, limit.Value)
	}
	got = p.run(t, p.d.Backward(seen), d, got)
	dk, de := grad.Key, p.times(grad.Erase)
	if p.d.Shared {
		for i := range dk {
			dk[i] += de[i]
		}
		de = nil
	}
	for name, w := range map[string][]float64{"dq": grad.Q, "dk": dk, "de": de, "dz": p.times(grad.Write), "dg": grad.LogDecay, "dfirst": grad.State, "drate": p.dRate(grad, d["dy"], y)} {
		if w != nil {
			p.compare(t, name, got[name], w, limit.Gradient)
		}
	}
}

// dRate is the gradient of the rates: through e and z, and since dy is that of
// y = u / rate.
func (p problem) dRate(grad *delta.Arrays, dY, y []float64) []float64 {
	out := make([]float64, len(p.in["rate"]))
	for i := range out {
		for j := range p.d.K {
			if p.d.Erases {
				out[i] += p.in["e"][i*p.d.K+j] * grad.Erase[i*p.d.K+j]
			}
		}
		for j := range p.d.V {
			at := i*p.d.V + j
			out[i] += p.in["z"][at]*grad.Write[at] - dY[at]*y[at]/p.in["rate"][i]
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// run interprets a function on arrays by name, beside those that are there.
func (p problem) run(t *testing.T, f *kernels.Function, arrays map[string][]float64, there map[string]*triton.Buffer) map[string]*triton.Buffer {
	t.Helper()
	all := map[string]*triton.Buffer{}
	for _, in := range f.In {
		if x := arrays[in.Name]; x != nil {
			all[in.Name] = triton.FromFloat64(in.DType, x, in.Dims...)
		} else {
			all[in.Name] = there[in.Name]
		}
	}
	for name, x := range there {
		all[name] = x
	}
	out, err := f.Run(all)
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	return out
}

func (p problem) compare(t *testing.T, name string, got *triton.Buffer, want []float64, limit float64) {
	t.Helper()
	if e := check.RelErr(got.Float64(), want); !(e <= limit) {
		t.Errorf("%s: %s is off by %.1e, more than %.0e", p.name, name, e, limit)
	} else {
		t.Logf("%s: %s %.1e", p.name, name, e)
	}
}

// small is a plan in which a head has several programs.
var small = kernels.Plan{Columns: 16, Warps: 4, Stages: 2, LocalWarps: 4}

// TestDelta compares forward and backward with the float64 recurrence.
func TestDelta(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, dtype := range []triton.DType{triton.BF16, triton.F32} {
		for i, parts := range []kernels.Parts{
			{Erases: true, Decays: true}, {Erases: true}, {Decays: true}, {},
			{Erases: true, Shared: true, Rated: true, Decays: true}, {Erases: true, Rated: true}, {Rated: true, Decays: true}, {Erases: true, Shared: true},
		} {
			for j, c := range []struct{ T, K, V, C int }{{64, 16, 16, 64}, {37, 32, 16, 16}, {48, 16, 32, 16}, {100, 16, 16, 64}} {
				if i%2 == j/2 || dtype == triton.F32 { // all lengths, and all parts with two of them
					d := kernels.Delta{B: 1, T: c.T, H: 2, K: c.K, V: c.V, C: c.C, DType: dtype, Parts: parts, Plan: small}
					newProblem(rng, d, 0.5).check(t, rng)
				}
			}
		}
	}
}
