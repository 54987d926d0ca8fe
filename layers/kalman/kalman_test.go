package kalman

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/scan"
)

// plans are the ways to run the filter that tests go through; in a test of few
// tokens they all have several turns, a ragged tail, or both.
var plans = map[string]scan.Plan{
	"loop":               {Chunks: 1, Unroll: 8},
	"tree":               {Chunks: 1, Unroll: 16, Tree: true},
	"two-level":          {Chunks: 4, Unroll: 4},
	"two-level of trees": {Chunks: 3, Unroll: 8, Tree: true},
}

// graphOf returns the filter as a function of the problem's arrays that are
// present, with y, y_var, λ and η as outputs.
func graphOf(a *Arrays, o Options) (fn func([]*Node) []*Node, ins []check.Array) {
	BTM, BTS, MS, BMS := []int{a.B, a.T, a.M}, []int{a.B, a.T, a.S}, []int{a.M, a.S}, []int{a.B, a.M, a.S}
	for i, dims := range [][]int{BTM, BTM, BTS, BTS, MS, MS, BMS, BMS} {
		if x := a.list()[i]; x != nil {
			ins = append(ins, check.Array{Dims: dims, Values: x})
		}
	}
	o.Variance = true
	return func(x []*Node) []*Node {
		if buildFor != 0 {
			scan.BuildFor(x[0].Graph(), buildFor)
		}
		in := Inputs{V: x[0], Precision: x[1], K: x[2], Q: x[3], A: x[4], P: x[5]}
		x = x[6:]
		if a.Lambda != nil {
			in.State.Lambda, x = x[0], x[1:]
		}
		if a.Eta != nil {
			in.State.Eta = x[0]
		}
		out := Filter(in, o)
		return []*Node{out.Y, out.YVar, out.State.Lambda, out.State.Eta}
	}, ins
}

func weights(a *Arrays, r *Result) []check.Array {
	BTM, BMS := []int{a.B, a.T, a.M}, []int{a.B, a.M, a.S}
	out := make([]check.Array, 4)
	for i, dims := range [][]int{BTM, BTM, BMS, BMS} {
		out[i] = check.Array{Dims: dims, Values: r.list()[i]}
	}
	return out
}

// evaluate runs a graph of the filter and returns its results and gradients,
// the latter in the order of the arrays that are present.
func evaluate(t testing.TB, a *Arrays, o Options, w *Result, dtype dtypes.DType) (out *Result, grads *Arrays) {
	t.Helper()
	fn, ins := graphOf(a, o)
	var ws []check.Array
	if w != nil {
		ws = weights(a, w)
	}
	ys, ds, err := check.Gradients(check.Backend(), dtype, fn, ins, ws)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	out = &Result{ys[0].Values, ys[1].Values, ys[2].Values, ys[3].Values}
	if w == nil {
		return out, nil
	}
	grads = &Arrays{V: ds[0].Values, Precision: ds[1].Values, K: ds[2].Values, Q: ds[3].Values, A: ds[4].Values, P: ds[5].Values}
	ds = ds[6:]
	if a.Lambda != nil {
		grads.Lambda, ds = ds[0].Values, ds[1:]
	}
	if a.Eta != nil {
		grads.Eta = ds[0].Values
	}
	return out, grads
}

// buildFor, if set, is the device that evaluate builds graphs for.
var buildFor scan.Device

func TestFormsAgreeWithGolden(t *testing.T) {
	for _, c := range goldens(t) {
		for name, plan := range plans {
			for _, second := range []Second{Mean, Information} {
				goldenForm(t, c, name, Options{Prior: c.prior, Second: second, Plan: plan})
			}
		}
	}
}

// What is built for a GPU must be right wherever a compiler runs it.
func TestGPUFormsAgreeWithGolden(t *testing.T) {
	buildFor = scan.GPU
	defer func() { buildFor = 0 }()
	for _, c := range goldens(t) {
		for name, plan := range plans {
			goldenForm(t, c, name+" for a GPU", Options{Prior: c.prior, Plan: plan})
		}
	}
}

func goldenForm(t *testing.T, c golden, name string, o Options) {
	t.Helper()
	if check.Backend().Name() != "Go Backend" {
		// Compiling takes seconds: here the devices are the subject, not the cases.
		if !strings.Contains(c.name, "init_state_T53") || o.Second != Mean {
			return
		}
	}
	what := fmt.Sprintf("%s, %s, %s", c.name, name, o.Second)
	out, g := evaluate(t, c.in, o, c.w, dtypes.Float64)
	report(t, what+", float64 output", out.list(), c.out.list(), 1e-9)
	report(t, what+", float64 gradient", g.list(), c.gradient.list(), 1e-9)
	out, g = evaluate(t, c.in, o, c.w, dtypes.Float32)
	report(t, what+", float32 output", out.list(), c.out.list(), 2e-5)
	report(t, what+", float32 gradient", g.list(), c.gradient.list(), 2e-4)
}
