package mixer_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/mixer/mixercheck"
)

const width = 12

// small holds the options that make every mixer small.
var small = map[string]map[string]string{
	"softmax":           {"heads": "4", "kv_heads": "2", "dk": "4", "qk_norm": "true", "gate": "true"},
	"linear":            {"heads": "2", "conv": "3"},
	"gla":               {"heads": "2", "dk": "4", "dv": "3", "rank": "4"},
	"simple_gla":        {"heads": "2", "dk": "4", "dv": "3"},
	"mamba2":            {"dk": "4", "dv": "6", "groups": "2"},
	"kalman":            {"d_state": "3", "conv": "3"},
	"mamba":             {"d_state": "3", "conv": "3"},
	"longhorn_diagonal": {"d_state": "3", "conv": "3"},
	"mlstm":             {"heads": "2", "conv": "3"},
}

// cancelling divides by a sum of both signs, which may come near 0: float32 then
// has few digits left.
const cancelling = "linear normalise product"

// layers builds every registered mixer, and the variants that take another
// path through the code.
func layers(t *testing.T) map[string]mixer.Layer {
	t.Helper()
	all := map[string]mixer.Layer{}
	add := func(label, name string, more map[string]string) {
		o := map[string]string{}
		for k, v := range small[name] {
			o[k] = v
		}
		if small[name] == nil {
			o = map[string]string{"heads": "2", "dk": "4", "dv": "3", "conv": "3"}
		}
		for k, v := range more {
			o[k] = v
		}
		l, err := mixer.New(name, width, o)
		if err != nil {
			t.Fatal(err)
		}
		all[label] = l
	}
	if check.Compiled() {
		add("softmax", "softmax", nil)
		add("kaczmarz", "kaczmarz", nil)
		return all
	}
	for _, k := range mixer.Registry {
		add(k.Name, k.Name, nil)
	}
	add("softmax window", "softmax", map[string]string{"window": "5"})
	add("linear normalise", "linear", map[string]string{"normalise": "true"})
	add(cancelling, "linear", map[string]string{"normalise": "true", "phi": "product"})
	for _, phi := range []string{"hedgehog", "dpfp", "t2r", "silu_l2", "relu", "identity"} {
		add("linear "+phi, "linear", map[string]string{"phi": phi})
	}
	add("deltanet shared keys", "deltanet", map[string]string{"heads": "4", "qk_heads": "2", "neg_eigval": "true"})
	for _, norm := range mixerOption("kaczmarz", "norm") {
		add("kaczmarz "+norm, "kaczmarz", map[string]string{"norm": norm})
	}
	for _, factor := range mixerOption("kaczmarz", "factor") {
		add("kaczmarz "+factor, "kaczmarz", map[string]string{"factor": factor, "decay": "single"})
	}
	add("kaczmarz eta", "kaczmarz", map[string]string{"eta": "0.5", "eps": "0.1", "decay": "none"})
	add("kda safe", "kda", map[string]string{"decay": "safe", "gate": "none"})
	add("kda clamp", "kda", map[string]string{"decay": "clamp", "lower_bound": "-0.5"})
	add("kalman mamba block", "kalman", map[string]string{"block": "mamba", "skip": "vector", "readout": "prior", "conv_act": "gelu"})
	add("kalman bare", "kalman", map[string]string{"conv": "0", "gate": "none", "skip": "none", "qk_norm": "false", "bias": "true", "clip": "0.5", "obs_var_max": "0.7"})
	add("kalman softplus", "kalman", map[string]string{"noise": "softplus", "value_rank": "2", "discretisation": "zoh", "second": "information"})
	add("kalman no noise", "kalman", map[string]string{"discretisation": "none", "gate": "gelu"})
	add("delta of channels", "delta", map[string]string{"forget": "channel", "erase": "channel", "write": "channel", "neg_eigval": "true"})
	add("delta of own write gates", "delta", map[string]string{"forget": "none", "write": "scalar"})
	add("delta without gates", "delta", map[string]string{"forget": "none", "erase": "none", "write": "none"})
	add("gdn2 shared keys", "gdn2", map[string]string{"heads": "4", "qk_heads": "2", "neg_eigval": "true"})
	return all
}

// lengths are the lengths to test; when graphs are compiled, only the second.
func lengths(all ...int) []int {
	if check.Compiled() {
		return all[1:2]
	}
	return all
}

func mixerOption(name, option string) []string {
	k, err := mixer.Find(name)
	if err != nil {
		panic(err)
	}
	return slices.Clone(k.Options.Find(option).Choices)
}

func run(t *testing.T, c mixercheck.Case) mixercheck.Result {
	t.Helper()
	r, err := mixercheck.Run(check.Backend(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func input(T int) check.Array {
	return check.Random(rand.New(rand.NewPCG(3, uint64(T))), 1, 2, T, width)
}

func TestMixersSplitAnywhere(t *testing.T) {
	const T = 11
	ones := slices.Repeat([]int{1}, T)
	for name, l := range layers(t) {
		t.Run(name, func(t *testing.T) {
			c := mixercheck.Case{Layer: l, X: input(T), State: true, DType: dtypes.Float64, Seed: 5, Form: delta.Form{Chunk: 4}}
			want := run(t, c)
			cuts := [][]int{{1, T - 1}, {3, T - 3}, {T - 1, 1}, ones}
			if check.Compiled() {
				cuts = cuts[1:2]
			}
			for _, pieces := range cuts {
				c.Pieces = pieces
				v, g, wv, wg := run(t, c).Worst(want)
				if !(v < 1e-11 && g < 1e-10) {
					t.Errorf("cut into %v: %s is off by %.2g, %s by %.2g", pieces, wv, v, wg, g)
				}
			}
		})
	}
}
