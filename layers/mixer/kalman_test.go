package mixer_test

import (
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/mixer/mixercheck"
	"github.com/kalmarz/kalmarz/layers/param"
)

// Every switch does something: with the same parameters, outputs or gradients
// change.
func TestKalmanSwitches(t *testing.T) {
	if check.Compiled() {
		t.Skip("on pure Go alone: each switch would be compiled")
	}
	base := map[string]string{"d_state": "3", "conv": "3"}
	const T = 9
	evaluate := func(more map[string]string) mixercheck.Result {
		o := maps.Clone(base)
		maps.Copy(o, more)
		l, err := mixer.New("kalman", width, o)
		if err != nil {
			t.Fatal(err)
		}
		return run(t, mixercheck.Case{Layer: l, X: input(T), DType: dtypes.Float64, Seed: 3, Offers: []string{"variance"}})
	}
	want := evaluate(nil)
	for _, c := range []struct {
		option, value string
		fewer         string // a parameter that must be gone
	}{
		{"block", "mamba", ""}, {"value_rank", "2", ""}, {"value_rank", "conv", ""}, {"var_rank", "dt", ""}, {"expand", "1", ""},
		{"d_state", "4", ""}, {"qk_norm", "false", ""}, {"conv", "0", "conv/weight"}, {"conv_act", "gelu", ""}, {"conv_act", "relu", ""},
		{"gate", "none", ""}, {"gate", "gelu", ""}, {"gate", "relu", ""}, {"skip", "none", "lambda_skip"}, {"skip_init", "0.5", ""},
		{"clip", "0.001", ""}, {"obs_var_min", "0.1", ""}, {"obs_var_max", "0.5", ""}, {"discretisation", "zoh", ""},
		{"discretisation", "none", "process_noise"}, {"dt", "0.1:1", ""}, {"process_noise", "0.1", ""}, {"learn_noise", "false", "process_noise"},
		{"readout", "prior", ""},
	} {
		what := c.option + "=" + c.value
		got := evaluate(map[string]string{c.option: c.value})
		if c.fewer != "" && got["grad "+c.fewer].Values != nil {
			t.Errorf("%s: %s still has a gradient", what, c.fewer)
		}
		if c.option != "learn_noise" && check.RelErr(got["y"].Values, want["y"].Values) < 1e-9 {
			t.Errorf("%s changes nothing", what)
		}
	}
	// What must not change values: the second recurrence, the noise's parameter,
	// and one skip weight a channel that starts as the same number.
	for _, o := range []map[string]string{{"second": "information"}, {"noise": "softplus"}, {"skip": "vector"}, {"value_rank": "full"}} {
		got := evaluate(o)
		for _, name := range []string{"y", "offer/variance", "state/lambda"} {
			if e := check.RelErr(got[name].Values, want[name].Values); !(e < 1e-4) { // softplus adds its floor of 1e-7
				t.Errorf("%v: %s is off by %.2g", o, name, e)
			}
		}
	}
	if g := evaluate(map[string]string{"bias": "true"}); len(g["grad sensor_proj/bias"].Values) == 0 { // biases start at 0
		t.Error("bias: no bias is trained")
	}
	// Softplus has a gradient where the clamp has none.
	if g := evaluate(map[string]string{"process_noise": "1e-9"})["grad process_noise"]; check.RelErr(g.Values, make([]float64, len(g.Values))) != 0 {
		t.Error("clamp: a gradient below the clamp")
	}
	if g := evaluate(map[string]string{"process_noise": "1e-9", "noise": "softplus"})["grad process_noise"]; check.RelErr(g.Values, make([]float64, len(g.Values))) == 0 {
		t.Error("softplus: no gradient")
	}
}

func TestKalmanOptionErrors(t *testing.T) {
	for _, c := range []struct{ option, value, want string }{
		{"dt", "0.1", "mixer kalman: dt = 0.1: must be a range lo:hi"},
		{"dt", "0.1:0.01", "dt = 0.1:0.01: must be a range"},
		{"dt", "0:1", "must be a range"},
		{"dt", "0.1:NaN", "must be a range"},
		{"expand", "0.3", "expand = 0.3: width 12 x 0.3 must be a whole number"},
		{"conv", "1", "conv = 1: must be 0 or at least 2"},
		{"obs_var_max", "1e-5", "obs_var_max = 1e-05: must be 0 or at least obs_var_min = 0.0001"},
		{"value_rank", "half", "value_rank = half: must be a whole number in [1, "},
		{"var_rank", "conv", "var_rank = conv: must be"},
		{"process_noise", "-1", "process_noise = -1: must be a number >= 0"},
	} {
		if _, err := mixer.New("kalman", width, map[string]string{c.option: c.value}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %s: %v, expected %q", c.option, c.value, err, c.want)
		}
	}
	if _, err := mixer.New("kalman", width, map[string]string{"noise": "softplus", "process_noise": "0"}); err == nil || !strings.Contains(err.Error(), "greater than 0") {
		t.Errorf("softplus of nothing: %v", err)
	}
}

// A fresh layer has the steps, rates and noise of the paper, hence at unit
// observation variance a steady precision near 2/noise.
func TestKalmanInitialisation(t *testing.T) {
	l, err := mixer.New("kalman", width, map[string]string{"d_state": "3"})
	if err != nil {
		t.Fatal(err)
	}
	set := declare(t, l)
	for name, limits := range map[string][2]float64{"lambda_log": {0, 0}, "process_noise": {0.01, 0.01}, "lambda_skip": {-1, -1}, "conv/bias": {0, 0}, "delta": {1e-3, 0.1}} {
		for _, v := range values(t, set, name) {
			if name == "delta" {
				v = math.Log1p(math.Exp(v))
			}
			if v < limits[0]-1e-12 || v > limits[1]+1e-12 {
				t.Errorf("%s holds %g, expected in %v", name, v, limits)
			}
		}
	}
	for _, e := range set.Entries() {
		if e.Name == "delta" || e.Name == "lambda_log" || e.Name == "process_noise" {
			if e.Role != param.Vector {
				t.Errorf("%s: its role allows weight decay", e.Name)
			}
		}
	}
}

// What is offered per token belongs to the state: after the last token its means
// are those of the state, and the gain is the share of the observation in it.
func TestKalmanOffers(t *testing.T) {
	l, err := mixer.New("kalman", width, map[string]string{"d_state": "3"})
	if err != nil {
		t.Fatal(err)
	}
	const T, M, S = 7, 2 * width, 3
	c := mixercheck.Case{Layer: l, X: input(T), State: true, DType: dtypes.Float64, Seed: 4, Offers: []string{"precision", "gain", "state_variance"}}
	r := run(t, c)
	for b := range 2 {
		for m := range M {
			mean, variance := 0.0, 0.0
			for s := range S {
				lambda := r["state/lambda"].Values[(b*M+m)*S+s]
				mean, variance = mean+lambda/S, variance+1/lambda/S
			}
			at := (b*T+T-1)*M + m
			if got := r["offer/precision"].Values[at]; math.Abs(got-mean) > 1e-12*mean {
				t.Errorf("row %d, channel %d: precision %g, the state's %g", b, m, got, mean)
			}
			if got := r["offer/state_variance"].Values[at]; math.Abs(got-variance) > 1e-12*variance {
				t.Errorf("row %d, channel %d: variance %g, the state's %g", b, m, got, variance)
			}
			if g := r["offer/gain"].Values[at]; !(g > 0 && g < 1) {
				t.Errorf("row %d, channel %d: gain %g", b, m, g)
			}
		}
	}
}

func TestFromTorchErrors(t *testing.T) {
	l, err := mixer.New("kalman", width, map[string]string{"d_state": "3"})
	if err != nil {
		t.Fatal(err)
	}
	const M, S = 2 * width, 3
	zeros := func(dims ...int) check.Array {
		n := 1
		for _, d := range dims {
			n *= d
		}
		return check.Array{Dims: dims, Values: make([]float64, n)}
	}
	right := map[string]check.Array{
		"in_proj.weight": zeros(2*M, width), "conv.weight": zeros(M, 1, 4), "conv.bias": zeros(M), "sensor_proj.weight": zeros(2*M+2*S, M),
		"out_proj.weight": zeros(width, M), "delta": zeros(M, S), "lambda_log": zeros(M, S), "process_noise": zeros(M, S), "lambda_skip": zeros(),
	}
	for want, spoil := range map[string]func(p map[string]check.Array){
		"": func(map[string]check.Array) {},
		"parameter in_proj.weight has shape [12 48], expected [48 12]":     func(p map[string]check.Array) { p["in_proj.weight"] = zeros(width, 2*M) },
		"parameter conv.weight has shape [4 1 24], expected [24 1 4]":      func(p map[string]check.Array) { p["conv.weight"] = zeros(4, 1, M) },
		"parameter delta has shape [3 24], expected [24 3]":                func(p map[string]check.Array) { p["delta"] = zeros(S, M) },
		"parameter conv.bias is missing":                                   func(p map[string]check.Array) { delete(p, "conv.bias") },
		"parameter var_expand.weight: the layer has none of that name":     func(p map[string]check.Array) { p["var_expand.weight"] = zeros(M, 3) },
		"parameter sensor_proj.weight has shape [19 24], expected [54 24]": func(p map[string]check.Array) { p["sensor_proj.weight"] = zeros(19, M) },
	} {
		p := maps.Clone(right)
		spoil(p)
		err := mixer.FromTorch(declare(t, l), "", p)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
}
