package delta

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/bfloat16"

	"github.com/kalmarz/kalmarz/layers/check"
)

var forms = map[string]func(Inputs) Outputs{
	"recurrent": Recurrent, "chunked 16": chunkedBy(16), "chunked 64": chunkedBy(64),
	"all pairs at once": func(in Inputs) Outputs { return chunked(in, Form{Chunk: 64}, 64) },
}

var (
	formNames = few(slices.Sorted(maps.Keys(forms)), "chunked 64")
	types     = few([]dtypes.DType{dtypes.Float32, dtypes.Float64}, dtypes.Float32)
)

// values runs a form without gradients.
func values(t *testing.T, a *Arrays, dtype dtypes.DType, form func(Inputs) Outputs) (o, state, u []float64) {
	t.Helper()
	fn, ins := graphOf(a, form)
	outs, _, err := check.Gradients(check.Backend(), dtype, fn, ins, nil)
	if err != nil {
		t.Fatal(err)
	}
	return outs[0].Values, outs[1].Values, outs[2].Values
}

// The same unit key 64 times with β = 1 overwrites exactly: u_t = v_t - v_{t-1},
// o_t = v_t. All values are small whole numbers, so nothing may be rounded.
func TestRepeatedKeysOverwriteExactly(t *testing.T) {
	const T, K, V = 64, 4, 3
	rng := rand.New(rand.NewPCG(1, 2))
	a := &Arrays{B: 1, T: T, H: 1, K: K, V: V, Key: make([]float64, T*K), Write: make([]float64, T*V)}
	for i := range T {
		a.Key[i*K+2] = 1
	}
	for i := range a.Write {
		a.Write[i] = float64(rng.IntN(64) - 32)
	}
	a.Q, a.Erase = a.Key, a.Key
	wantU := slices.Clone(a.Write)
	for i := V; i < len(wantU); i++ {
		wantU[i] -= a.Write[i-V]
	}
	wantState := make([]float64, K*V)
	copy(wantState[2*V:], a.Write[(T-1)*V:])
	for _, name := range formNames {
		for _, dtype := range types {
			o, state, u := values(t, a, dtype, forms[name])
			if !slices.Equal(o, a.Write) || !slices.Equal(state, wantState) || !slices.Equal(u, wantU) {
				t.Errorf("%s %s: o %v\nstate %v\nu %v", name, dtype, o, state, u)
			}
		}
	}
}

// A unit key written 64 times with v = 1: the state tends to 1 for β in (0,2)
// and goes 2, 0, 2, 0, ... at β = 2. A key of norm 2 with β = 0.6 has the
// eigenvalue 1 - 0.6·4 = -1.4: S = 0.5(1 - 1.4⁶⁴), about -1.1e9, and to round
// 2.4 in float32 alone changes that by 1e-5.
func TestRepeatedWrites(t *testing.T) {
	const T = 64
	type write struct{ beta, norm, want float64 }
	for _, c := range few([]write{
		{0.5, 1, 1}, {1, 1, 1}, {1.5, 1, 1}, {2, 1, 0},
		{0.6, 2, 0.5 * (1 - math.Pow(1.4, 64))},
		{1.0 / 4, 2, 0.5}, // the step 1/‖k‖² of Kaczmarz
	}, write{2, 1, 0}) {
		a := ones(1, T)
		a.Key = slices.Repeat([]float64{c.norm}, T)
		a.Erase, a.Write = slices.Repeat([]float64{c.beta * c.norm}, T), slices.Repeat([]float64{c.beta}, T)
		for _, name := range formNames {
			for _, dtype := range types {
				tol := map[dtypes.DType]float64{dtypes.Float32: 3e-5, dtypes.Float64: 1e-12}[dtype]
				if _, s, _ := values(t, a, dtype, forms[name]); !(math.Abs(s[0]-c.want) <= tol*max(1, math.Abs(c.want))) {
					t.Errorf("%s %s: β=%g ‖k‖=%g: state %.10g, expected %.10g", name, dtype, c.beta, c.norm, s[0], c.want)
				}
			}
		}
	}
}

// bfloat16 inputs are only storage: sums, decays and the solve run in float32,
// so the state is as accurate as float32 allows, and o and u are it rounded
// once. The keys are nearly repeated and β is near 1, where a solve in bfloat16
// loses everything.
func TestNarrowInputsAreSolvedWide(t *testing.T) {
	if check.Compiled() {
		t.Skip("a compiler may drop the conversions that this counts on")
	}
	const T, K = 70, 4
	a := problem(rand.New(rand.NewPCG(4, 4)), 1, T, 2, K, 3, 1, 0.02, true, true)
	for i := range a.Key {
		a.Key[i] = 0.5 + 0.01*a.Key[i]
		a.Erase[i] = 0.99 * a.Key[i]
	}
	round := func(x []float64) {
		for i, v := range x {
			x[i] = float64(bfloat16.FromFloat32(float32(v)).Float32())
		}
	}
	for _, x := range a.inputs() {
		round(x)
	}
	want, _, w := referenceOf(t, a)
	for i := range w {
		round(w[i].Values)
	}
	wantGrad, err := ReferenceGradient(a, &Result{O: w[0].Values, State: w[1].Values, U: w[2].Values})
	if err != nil {
		t.Fatal(err)
	}
	for name, form := range forms {
		fn, ins := graphOf(a, form)
		outs, grads, err := check.Gradients(check.Backend(), dtypes.BFloat16, fn, ins, w)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range [][]float64{want.O, want.State, want.U} {
			tol := 2.5e-3 // one rounding to 8 bits is up to 3.9e-3, 1.6e-3 on average
			if i == 1 {
				tol = 1e-6
			}
			if e := relRMS(outs[i].Values, x); !(e < tol) {
				t.Errorf("%s: %s is off by %.2g", name, resultNames[i], e)
			}
		}
		for i, x := range wantGrad.inputs() {
			if e := relRMS(grads[i].Values, x); !(e < 2.5e-3) {
				t.Errorf("%s: gradient %d is off by %.2g", name, i, e)
			}
		}
	}
}

// What the narrow form stores between products is rounded to 8 bits, 1.6e-3 each
// time on average; a result takes a handful of such roundings.
func TestNarrowStorageCostsAFewRoundings(t *testing.T) {
	const T, K, V = 40, 16, 8
	for _, decays := range []int{0, 1, K} {
		a := problem(rand.New(rand.NewPCG(8, 8)), 2, T, 2, K, V, decays, 0.1, true, true)
		for _, x := range a.inputs() {
			for i, v := range x {
				x[i] = float64(bfloat16.FromFloat32(float32(v)).Float32())
			}
		}
		want, wantGrad, w := referenceOf(t, a)
		fn, ins := graphOf(a, func(in Inputs) Outputs { return Run(in, Form{Chunk: 16, Narrow: true}) })
		outs, grads, err := check.Gradients(check.Backend(), dtypes.BFloat16, fn, ins, w)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range [][]float64{want.O, want.State, want.U} {
			if e := relRMS(outs[i].Values, x); !(e > 1e-5 && e < 8e-3) {
				t.Errorf("%d decays: %s is off by %.2g", decays, resultNames[i], e)
			}
		}
		for i, x := range wantGrad.inputs() {
			if e := relRMS(grads[i].Values, x); !(e < 1.2e-2) {
				t.Errorf("%d decays: gradient %d is off by %.2g", decays, i, e)
			}
		}
	}
}
