package kalman

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/scan"
)

// nodes builds the filter with all gradients for a device and returns every
// node of the graph, loops' bodies included.
func nodes(t *testing.T, a *Arrays, o Options, d scan.Device) []*Node {
	t.Helper()
	fn, ins := graphOf(a, o)
	g := NewGraph(check.Backend(), "structure")
	if d != 0 {
		scan.BuildFor(g, d)
	}
	var x []*Node
	for _, in := range ins {
		x = append(x, ConvertDType(Parameter(g, "", in.Tensor().Shape()), dtypes.Float32))
	}
	outs := fn(x)
	loss := Add(ReduceAllSum(outs[0]), ReduceAllSum(outs[1]))
	outs = append(outs, Gradient(loss, x...)...)
	return g.Nodes()
}

// No state per token is ever stored: the largest array of the graph stays below
// four states for each token of a turn, plus a few times the tokens.
func TestNoStatePerToken(t *testing.T) {
	const B, T, M, S = 1, 8192, 32, 8
	a := Random(rand.New(rand.NewPCG(1, 2)), B, T, M, S, true)
	devices := []scan.Device{0}
	if check.Backend().Name() == "xla" {
		devices = []scan.Device{scan.CPU, scan.GPU}
	}
	for name, plan := range map[string]scan.Plan{
		"chosen": {}, "loop": {Chunks: 1}, "tree": {Chunks: 1, Unroll: 16, Tree: true},
		"two-level": {Chunks: 8, Unroll: 16}, "two-level of trees": {Chunks: 8, Unroll: 16, Tree: true},
	} {
		for _, d := range devices {
			C := 16 // tokens in a turn
			if d == scan.GPU {
				C = 32
			}
			chunks := max(1, plan.Chunks)
			if name == "chosen" {
				chunks = 16
			}
			// Chunks run side by side, each with the states of its own turn.
			limit := 4*B*C*chunks*M*S + 2*B*T*(M+S)
			largest := 0
			for _, n := range nodes(t, a, Options{Plan: plan}, d) {
				if n.NumOutputs() != 1 { // each output has a node of its own
					continue
				}
				largest = max(largest, n.Shape().Size())
				if largest > limit {
					t.Fatalf("%s: node %s has %d elements, expected at most %d (a state per token is %d)", name, n, n.Shape().Size(), limit, B*T*M*S)
				}
			}
			t.Logf("%s: largest node %d elements, %d allowed, a state per token %d", name, largest, limit, B*T*M*S)
		}
	}
}

// The graph does not grow with the sequence.
func TestNodeCount(t *testing.T) {
	count := func(T int) int {
		return len(nodes(t, Random(rand.New(rand.NewPCG(1, 2)), 1, T, 4, 4, true), Options{Plan: scan.Plan{Chunks: 1}}, 0))
	}
	if short, long := count(64), count(4096); long != short {
		t.Errorf("%d nodes for 64 tokens, %d for 4096: expected the same", short, long)
	}
}

// What comes after a token changes nothing before it, to the last bit.
func TestCausality(t *testing.T) {
	onPureGo(t)
	const T = 32
	for name, plan := range plans {
		for _, P := range []int{1, 8, 16} {
			a := Random(rand.New(rand.NewPCG(12, 13)), 1, T, 3, 4, true)
			w := weightsOf(a)
			clear(w.Lambda)
			clear(w.Eta)
			clear(w.Y[P*3:])
			clear(w.YVar[P*3:])
			before, gBefore := evaluate(t, a, Options{Plan: plan}, w, dtypes.Float32)
			for _, x := range [][]float64{a.V[P*3:], a.Precision[P*3:], a.K[P*4:], a.Q[P*4:]} {
				for i := range x {
					x[i] += 1e3
				}
			}
			after, gAfter := evaluate(t, a, Options{Plan: plan}, w, dtypes.Float32)
			same := func(what string, a, b []float64) {
				for i := range a {
					if math.Float64bits(a[i]) != math.Float64bits(b[i]) {
						t.Fatalf("%s, change at token %d: %s changed from %g to %g at %d", name, P, what, a[i], b[i], i)
					}
				}
			}
			same("y", before.Y[:P*3], after.Y[:P*3])
			same("y_var", before.YVar[:P*3], after.YVar[:P*3])
			for i, d := range []int{3, 3, 4, 4} {
				same("a gradient", gBefore.list()[i][:P*d], gAfter.list()[i][:P*d])
			}
			for i := 4; i < 8; i++ {
				same("a gradient", gBefore.list()[i], gAfter.list()[i])
			}
		}
	}
}

func TestErrorsNameTheArgument(t *testing.T) {
	for want, spoil := range map[string]func(*Arrays){
		"precision = 0 at [0 1 0]": func(a *Arrays) { a.Precision[2] = 0 },
		"precision = NaN":          func(a *Arrays) { a.Precision[0] = math.NaN() },
		"precision = +Inf":         func(a *Arrays) { a.Precision[0] = math.Inf(1) },
		"p = -0.1 at [1 0]":        func(a *Arrays) { a.P[3] = -0.1 },
		"a = 1.5":                  func(a *Arrays) { a.A[0] = 1.5 },
		"a = NaN":                  func(a *Arrays) { a.A[0] = math.NaN() },
		"state lambda = 0":         func(a *Arrays) { a.Lambda[0] = 0 },
		"k has 11 values, expected 12 for dimensions [1": func(a *Arrays) { a.K = a.K[1:] },
		"v = +Inf": func(a *Arrays) { a.V[1] = math.Inf(1) },
	} {
		a := Random(rand.New(rand.NewPCG(1, 2)), 1, 4, 2, 3, true)
		spoil(a)
		if _, err := Reference(a, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected one with %q", err, want)
		}
	}
	for want, spoil := range map[string]func(in *Inputs){
		"precision is": func(in *Inputs) { in.Precision = in.K },
		"q is":         func(in *Inputs) { in.Q = in.V },
		"a is":         func(in *Inputs) { in.A = in.V },
		"p must":       func(in *Inputs) { in.P = nil },
		"state eta is": func(in *Inputs) { in.State.Eta = in.V },
	} {
		_, ins := graphOf(Random(rand.New(rand.NewPCG(1, 2)), 1, 4, 2, 3, true), Options{})
		_, _, err := check.Gradients(check.Backend(), dtypes.Float32, func(x []*Node) []*Node {
			in := Inputs{V: x[0], Precision: x[1], K: x[2], Q: x[3], A: x[4], P: x[5], State: State{x[6], x[7]}}
			spoil(&in)
			return []*Node{Filter(in, Options{}).Y}
		}, ins, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected one with %q", err, want)
		}
	}
}
