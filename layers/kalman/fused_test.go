package kalman

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/kernels/kernelcheck"
	"github.com/kalmarz/kalmarz/layers/scan"
)

// The kernel form in a graph: named inputs, outputs and gradients reach the
// kernels and come back in their places.
func TestKernelForm(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 17))
	for _, c := range []struct {
		T       int
		options Options
		state   bool
		calls   int
	}{
		{256, Options{}, true, 2},
		{40, Options{}, true, 0},
		{40, Options{Plan: scan.Plan{Kernel: true, Chunks: 3}}, false, 2},
		{21, Options{Prior: true, Plan: scan.Plan{Kernel: true}}, true, 2},
		{9, Options{}, true, 0},
		{40, Options{Second: Information}, true, 0},
		{40, Options{Plan: scan.Plan{Chunks: 1}}, true, 0},
	} {
		what := fmt.Sprintf("%+v", c)
		a := Random(rng, 2, c.T, 16, 8, c.state)
		d := weightsOf(a)
		want, err := Reference(a, c.options.Prior)
		if err != nil {
			t.Fatal(err)
		}
		wantGrad, err := ReferenceGradient(a, c.options.Prior, d)
		if err != nil {
			t.Fatal(err)
		}
		got, calls := interpreted(t, a, d, c.options)
		if len(calls) != c.calls {
			t.Errorf("%s: kernels called: %v, expected %d", what, calls, c.calls)
		}
		for i, x := range slices.Concat(want.list(), wantGrad.list()[:len(got)-len(want.list())]) {
			if e := check.RelErr(got[i], x); !(e <= 5e-6) {
				t.Errorf("%s: result %d is off by %.1e", what, i, e)
			}
		}
	}
}

// interpreted returns outputs and gradients of a loss with weights d as kernels make
// them in plain Go, and the names of those called.
func interpreted(t *testing.T, a *Arrays, d *Result, o Options) (values [][]float64, calls []string) {
	t.Helper()
	fn, ins := graphOf(a, o)
	n := len(ins)
	values, calls, err := kernelcheck.Interpret(func(x []*Node) []*Node {
		ys := fn(x[:n])
		loss := ReduceAllSum(Mul(ys[0], x[n]))
		for i, y := range ys[1:] {
			loss = Add(loss, ReduceAllSum(Mul(y, x[n+1+i])))
		}
		return append(ys, Gradient(loss, x[:n]...)...)
	}, append(ins, weights(a, d)...))
	if err != nil {
		t.Fatal(err)
	}
	return values, calls
}

// The archive's values hold for the kernels, too, in one chunk and in several.
func TestKernelsAgreeWithGolden(t *testing.T) {
	onPureGo(t)
	for _, c := range goldens(t) {
		for _, chunks := range []int{1, 3} {
			what := fmt.Sprintf("%s, kernels, %d chunks", c.name, chunks)
			got, calls := interpreted(t, c.in, c.w, Options{Prior: c.prior, Plan: scan.Plan{Kernel: true, Chunks: chunks}})
			if len(calls) != 2 {
				t.Errorf("%s: called: %v", what, calls)
				continue
			}
			n := len(c.out.list())
			report(t, what+", output", got[:n], c.out.list(), 5e-6)
			report(t, what+", gradient", got[n:], c.gradient.list()[:len(got)-n], 5e-5)
		}
	}
}

// Where there are no kernels the reason is given, and asking for them changes
// nothing.
func TestWithoutKernels(t *testing.T) {
	onPureGo(t)
	a := Random(rand.New(rand.NewPCG(18, 19)), 1, 40, 16, 8, true)
	_, ins := graphOf(a, Options{})
	var reason error
	outs, _, err := check.Gradients(check.Backend(), dtypes.Float32, func(x []*Node) []*Node {
		in := Inputs{V: x[0], Precision: x[1], K: x[2], Q: x[3], A: x[4], P: x[5], State: State{x[6], x[7]}}
		reason = in.KernelError(Options{})
		return []*Node{Sub(Filter(in, Options{Plan: scan.Plan{Kernel: true}}).Y, Filter(in, Options{}).Y)}
	}, ins, nil)
	if err != nil {
		t.Fatal(err)
	}
	if reason == nil || !strings.Contains(reason.Error(), "has no fused kernels") {
		t.Error(reason)
	}
	allZero(t, "asking for kernels changes the output", outs[0].Values)
}
