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
func graphOf(a *Arrays, o Options) (func([]*Node) []*Node, []check.Array) {
	fn, ins := a.graph(o)
	return func(x []*Node) []*Node {
		if buildFor != 0 {
			scan.BuildFor(x[0].Graph(), buildFor)
		}
		return fn(x)
	}, ins
}

func weights(a *Arrays, r *Result) []check.Array {
	out := make([]check.Array, 4)
	for i, dims := range a.resultDims() {
		out[i] = check.Array{Dims: dims, Values: r.list()[i]}
	}
	return out
}

// evaluate runs a graph of the filter and returns its results and gradients.
func evaluate(t testing.TB, a *Arrays, o Options, w *Result, dtype dtypes.DType) (out *Result, grads *Arrays) {
	t.Helper()
	fn, ins := graphOf(a, o)
	out, grads, err := a.evaluate(check.Backend(), dtype, fn, ins, w)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	return out, grads
}

// buildFor, if set, is the device that evaluate builds graphs for.
var buildFor scan.Device

// onPureGo skips a test where graphs are compiled, seconds each. There one case
// in float32, with all its gradients, in the form that is chosen by default and
// in the one that is built for a GPU, stands for the package, beside the tests
// that build graphs without running them.
func onPureGo(t *testing.T) {
	t.Helper()
	if check.Compiled() {
		t.Skip("on pure Go alone: each graph takes seconds to compile here")
	}
}

func TestFormsAgreeWithGolden(t *testing.T) {
	for _, c := range goldens(t) {
		if check.Compiled() {
			goldenForm(t, c, "chosen", Options{Prior: c.prior})
			continue
		}
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
			if !check.Compiled() || name == "loop" {
				goldenForm(t, c, name+" for a GPU", Options{Prior: c.prior, Plan: plan})
			}
		}
	}
}

func goldenForm(t *testing.T, c golden, name string, o Options) {
	t.Helper()
	what := fmt.Sprintf("%s, %s, %s", c.name, name, o.Second)
	if !check.Compiled() {
		out, g := evaluate(t, c.in, o, c.w, dtypes.Float64)
		report(t, what+", float64 output", out.list(), c.out.list(), 1e-9)
		report(t, what+", float64 gradient", g.list(), c.gradient.list(), 1e-9)
	} else if !strings.Contains(c.name, "init_state_T53") {
		return
	}
	out, g := evaluate(t, c.in, o, c.w, dtypes.Float32)
	report(t, what+", float32 output", out.list(), c.out.list(), 2e-5)
	report(t, what+", float32 gradient", g.list(), c.gradient.list(), 2e-4)
}
