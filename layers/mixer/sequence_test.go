package mixer_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/mixer/mixercheck"
	"github.com/kalmarz/kalmarz/layers/param"
)

// The chunked form agrees with the recurrent one at every length around the
// chunk's edges, with all gradients, in float64 and in float32.
func TestFormsAgree(t *testing.T) {
	const C = 4
	for name, l := range layers(t) {
		for _, T := range lengths(1, C+1, 2, C-1, C, 2*C+3) {
			c := mixercheck.Case{Layer: l, X: input(T), State: true, DType: dtypes.Float64, Seed: 6, Form: delta.Form{Recurrent: true}}
			want := run(t, c)
			c.Form = delta.Form{Chunk: C}
			if !check.Compiled() {
				compare(t, name, T, run(t, c), want, 1e-12, 1e-11)
			}
			if name == cancelling {
				continue
			}
			c.DType = dtypes.Float32
			compare(t, name, T, run(t, c), want, 2e-5, 2e-4)
		}
	}
}

func compare(t *testing.T, name string, T int, got, want mixercheck.Result, tolValue, tolGrad float64) {
	t.Helper()
	v, g, wv, wg := got.Worst(want)
	if !(v < tolValue && g < tolGrad) {
		t.Errorf("%s, T=%d: %s is off by %.2g, %s by %.2g", name, T, wv, v, wg, g)
	}
}

// Inputs at tokens from P on do not change outputs before P, nor any gradient
// of a loss on these, to the last bit.
func TestNothingLooksAhead(t *testing.T) {
	const C, T = 4, 11
	for name, l := range layers(t) {
		for _, P := range lengths(1, C/2, C) {
			c := mixercheck.Case{Layer: l, X: input(T), State: true, DType: dtypes.Float64, Seed: 7, Form: delta.Form{Chunk: C}, Before: P}
			want := run(t, c)
			for i := range c.X.Values {
				if i/width%T >= P {
					c.X.Values[i] += 1e3
				}
			}
			got := run(t, c)
			same := func(what string, x, y []float64) {
				for i := range x {
					if math.Float64bits(x[i]) != math.Float64bits(y[i]) {
						t.Errorf("%s, P=%d: %s was %g, is %g", name, P, what, y[i], x[i])
						return
					}
				}
			}
			for what, x := range got {
				if strings.HasPrefix(what, "grad ") {
					same(what, x.Values, want[what].Values)
				}
			}
			row := T * width
			for b := range 2 {
				same("y", got["y"].Values[b*row:][:P*width], want["y"].Values[b*row:][:P*width])
			}
			if slices.Equal(got["y"].Values, want["y"].Values) {
				t.Errorf("%s, P=%d: the later outputs did not change", name, P)
			}
		}
	}
}

// zeroKeys holds the keys of a layer at 0, and hands on how its state changed
// instead of the state.
type zeroKeys struct{ mixer.Layer }

func (l zeroKeys) Apply(c *mixer.Context, x *Node) *Node {
	for _, s := range l.Slots(1) {
		if s.Name == "k_conv" {
			c.In("k_conv").Get("weight", param.Vector, param.Constant(0), s.Dims[0]+1, s.Dims[1])
		}
	}
	state := mixer.State{}
	for _, s := range l.Slots(1) {
		state[s.Name] = c.Carried(s.Name)
	}
	y, after := mixer.Apply(l.Layer, mixer.Context{Scope: c.Scope, Form: c.Form}, x, state)
	for name, s := range after {
		if name == "state" {
			s = Sub(s, state[name])
		}
		c.Keep(name, s)
	}
	return y
}

// A key of 0 writes nothing, whatever the step: the state stays as it is to the
// last bit and every gradient is finite.
func TestZeroKeysWriteNothing(t *testing.T) {
	const T = 6
	forms, floats := []delta.Form{{Chunk: 4}, {Recurrent: true}}, []dtypes.DType{dtypes.Float32, dtypes.Float64}
	norms, epsilons := mixerOption("kaczmarz", "norm"), []string{"0", "1e-6"}
	if check.Compiled() {
		forms, floats, norms, epsilons = forms[:1], floats[:1], norms[2:3], epsilons[:1]
	}
	run1 := func(name string, l mixer.Layer) {
		for _, form := range forms {
			for _, dtype := range floats {
				r := run(t, mixercheck.Case{Layer: zeroKeys{l}, X: input(T), State: true, DType: dtype, Seed: 8, Form: form})
				if slices.ContainsFunc(r["state/state"].Values, func(d float64) bool { return d != 0 }) {
					t.Errorf("%s %+v %s: the state moved by %v", name, form, dtype, r["state/state"].Values)
				}
				for what, x := range r {
					for _, v := range x.Values {
						if math.IsNaN(v) || math.IsInf(v, 0) {
							t.Errorf("%s %+v %s: %s holds %g", name, form, dtype, what, v)
							break
						}
					}
				}
			}
		}
	}
	o := map[string]string{"heads": "2", "dk": "4", "dv": "3", "conv": "3", "decay": "none"}
	for _, norm := range norms {
		for _, eps := range epsilons {
			o["norm"], o["eps"] = norm, eps
			run1("kaczmarz "+norm+" eps="+eps, build(t, "kaczmarz", o))
		}
	}
	if check.Compiled() {
		return
	}
	run1("deltanet", build(t, "deltanet", map[string]string{"heads": "2", "dk": "4", "dv": "3", "conv": "3"}))
}

func build(t *testing.T, name string, o map[string]string) mixer.Layer {
	t.Helper()
	l, err := mixer.New(name, width, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The flag for negative eigenvalues changes what every mixer that has it
// computes, and nothing about its parameters.
func TestNegativeEigenvaluesAreReal(t *testing.T) {
	if check.Compiled() {
		t.Skip("the graphs are the same on every backend")
	}
	found := 0
	for _, k := range mixer.Registry {
		if k.Options.Find("neg_eigval") == nil {
			continue
		}
		found++
		var r [2]mixercheck.Result
		for i, flag := range []string{"false", "true"} {
			l := build(t, k.Name, map[string]string{"heads": "2", "dk": "4", "dv": "3", "conv": "3", "neg_eigval": flag})
			r[i] = run(t, mixercheck.Case{Layer: l, X: input(9), DType: dtypes.Float64, Seed: 9, Form: delta.Form{Chunk: 4}})
		}
		if !slices.Equal(slices.Sorted(maps.Keys(r[0])), slices.Sorted(maps.Keys(r[1]))) {
			t.Errorf("%s: the flag changes the parameters", k.Name)
		}
		for _, what := range []string{"y", "state/state"} {
			if e := check.RelErr(r[1][what].Values, r[0][what].Values); !(e > 1e-2) {
				t.Errorf("%s: the flag changes %s by %.2g only", k.Name, what, e)
			}
		}
	}
	if found < 5 {
		t.Errorf("%d mixers have the flag, expected deltanet, gdn, kda, gdn2 and longhorn at least", found)
	}
}

func TestOptionsOutOfRange(t *testing.T) {
	for _, c := range []struct{ mixer, option, value, want string }{
		{"kaczmarz", "eta", "2.1", "mixer kaczmarz: eta = 2.1: must be in [0, 2] or learned"},
		{"kaczmarz", "eta", "-0.1", "mixer kaczmarz: eta = -0.1: must be in [0, 2] or learned"},
		{"kaczmarz", "eta", "NaN", "mixer kaczmarz: eta = NaN: must be in [0, 2] or learned"},
		{"kaczmarz", "eps", "-1e-9", "mixer kaczmarz: eps = -1e-9: must be a number >= 0"},
		{"kaczmarz", "norm", "l3", "mixer kaczmarz: norm = l3: must be one of l2, kaczmarz"},
		{"gdn", "beta", "3", `mixer gdn: unknown option "beta": known are heads`},
		{"gdn", "heads", "5", "mixer gdn: expand_k = 0.75: width 12 x 0.75 = 9 must be a multiple of heads = 5"},
		{"gdn", "qk_heads", "3", "mixer gdn: qk_heads = 3: must divide heads = 4"},
		{"gdn", "conv", "1", "mixer gdn: conv = 1: must be 0 or at least 2"},
		{"simple_gla", "dk", "3", "mixer simple_gla: dk = 3: rotary positions need an even key width"},
		{"softmax", "kv_heads", "3", "mixer softmax: kv_heads = 3: must divide heads = 4"},
		{"kda", "lower_bound", "0", "mixer kda: lower_bound = 0: must be in [-100, -0.001]"},
		{"rwkv", "dk", "3", `unknown mixer "rwkv": known are softmax, linear`},
	} {
		if _, err := mixer.New(c.mixer, width, map[string]string{c.option: c.value}); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s %s=%s: %v, expected %q", c.mixer, c.option, c.value, err, c.want)
		}
	}
}
