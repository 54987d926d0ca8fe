package mixer

// Kalman Linear Attention, arXiv 2602.10743: a scalar Kalman filter for each of
// M channels and S states, with static decay a and noise p, that observes
// v = k x + noise of variance σ² and is read by q (see package kalman):
//
//	[z, g] = W_in x    z = silu(conv(z))    [v, σ², k, q] = W_sensor z
//	y = W_out (act(g) ∘ (Σ_s q mean + λ z))
//
// The plain block projects v and σ² at full width; the mamba block takes v = z
// and σ² through a bottleneck. The variance of y is offered as "variance": the
// filter's, through the gate's square and the squared weights of W_out; the skip
// adds none.

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/kalmarz/kalmarz/layers/kalman"
	"github.com/kalmarz/kalmarz/layers/option"
)

var kalmanKind = &Kind{
	Name: "kalman", Paper: "2602.10743", Doc: "a Kalman filter per channel and state, with its uncertainty",
	Options: option.Set{
		{Name: "block", Kind: option.Word, Default: "plain", Choices: []string{"plain", "mamba"}, Help: "plain: v and σ² at full width; mamba: v is the convolved input, σ² of low rank"},
		{Name: "expand", Kind: option.Float, Default: 2.0, Range: [2]float64{1.0 / 64, 64}, Help: "channels / model width"},
		{Name: "d_state", Kind: option.Int, Default: 16, Range: [2]float64{1, 4096}, Help: "states a channel"},
		{Name: "value_rank", Kind: option.Int, Default: "block", Range: [2]float64{1, 1 << 20}, Choices: []string{"block", "full", "dt", "conv"}, Help: "how v is made: as the block says, full width, of rank ⌈width/8⌉ (dt) or of a given one, or not projected (conv)"},
		{Name: "var_rank", Kind: option.Int, Default: "block", Range: [2]float64{1, 1 << 20}, Choices: []string{"block", "full", "dt"}, Help: "how σ² is made: as the block says, full width, of rank ⌈width/8⌉ (dt) or of a given one"},
		{Name: "qk_norm", Kind: option.Bool, Default: true, Help: "keys and queries of norm 1"},
		{Name: "bias", Kind: option.Bool, Default: false, Help: "biases in the projections"},
		{Name: "conv", Kind: option.Int, Default: 4, Range: [2]float64{0, 64}, Help: "width of the short convolution; 0 = none, and no activation either"},
		{Name: "conv_act", Kind: option.Word, Default: "silu", Choices: []string{"silu", "gelu", "relu"}, Help: "activation after the convolution"},
		{Name: "gate", Kind: option.Word, Default: "silu", Choices: []string{"silu", "gelu", "relu", "none"}, Help: "activation of the output gate"},
		{Name: "skip", Kind: option.Word, Default: "scalar", Choices: []string{"scalar", "vector", "none"}, Help: "weight λ of the skip around the filter: one, one a channel, or no skip"},
		{Name: "skip_init", Kind: option.Float, Default: -1.0, Help: "initial λ"},
		{Name: "clip", Kind: option.Float, Default: 0.0, Range: [2]float64{0, math.Inf(1)}, Help: "bound of |k|, |q| and of the process noise; 0 = none"},
		{Name: "obs_var_min", Kind: option.Float, Default: 1e-4, Range: [2]float64{1e-12, math.Inf(1)}, Help: "added to σ²"},
		{Name: "obs_var_max", Kind: option.Float, Default: 0.0, Range: [2]float64{0, math.Inf(1)}, Help: "upper bound of σ²; 0 = none"},
		{Name: "discretisation", Kind: option.Word, Default: "ou", Choices: []string{"ou", "zoh", "none"}, Help: "noise a token: of the Ornstein-Uhlenbeck process, held over the step, or none"},
		{Name: "dt", Kind: option.Word, Default: "0.001:0.1", Help: "range lo:hi in which initial steps are drawn, log-uniform; what is below 1e-4 becomes 1e-4"},
		{Name: "process_noise", Kind: option.Float, Default: 0.01, Range: [2]float64{0, math.Inf(1)}, Help: "initial process noise in continuous time"},
		{Name: "learn_noise", Kind: option.Bool, Default: true, Help: "train the process noise"},
		{Name: "noise", Kind: option.Word, Default: "clamp", Choices: []string{"clamp", "softplus"}, Help: "how the process noise is kept positive: clamp at 1e-7, below which it has no gradient, or softplus"},
		{Name: "readout", Kind: option.Word, Default: "posterior", Choices: []string{"posterior", "prior"}, Help: "read the filtered state, or the prediction for the next token"},
		{Name: "second", Kind: option.Word, Default: "mean", Choices: []string{"mean", "information"}, Help: "what the second recurrence carries: the mean, or precision times mean"},
	},
	New:    newKalman,
	Family: "kalman",
}

type kalmanLayer struct {
	d, M, S, conv       int
	valueRank, varRank  int // 0 = full width; a valueRank of -1 = not projected
	dtLow, dtHigh       float64
	clip, varMin, limit float64 // limit of σ²; 0 = none
	process             kalman.Discretisation
	filter              kalman.Options
	o                   option.Values
}

func newKalman(d int, o option.Values) (Layer, error) {
	l := &kalmanLayer{d: d, S: o.Int("d_state"), conv: o.Int("conv"), clip: o.Float("clip"), varMin: o.Float("obs_var_min"), limit: o.Float("obs_var_max"), o: o}
	l.valueRank, l.varRank = l.rank("value_rank"), l.rank("var_rank")
	l.filter.Prior = o.Word("readout") == "prior"
	if o.Word("second") == "information" {
		l.filter.Second = kalman.Information
	}
	var err error
	if l.M, err = innerWidth(d, o.Float("expand")); err != nil {
		return nil, err
	}
	if l.process, err = kalman.ParseDiscretisation(o.Word("discretisation")); err != nil {
		return nil, err
	}
	if l.dtLow, l.dtHigh, err = stepRange(o.Word("dt")); err != nil {
		return nil, err
	}
	switch {
	case l.conv == 1:
		return nil, fmt.Errorf("conv = 1: must be 0 or at least 2")
	case l.limit > 0 && l.limit < l.varMin:
		return nil, fmt.Errorf("obs_var_max = %g: must be 0 or at least obs_var_min = %g", l.limit, l.varMin)
	case o.Word("noise") == "softplus" && o.Float("process_noise") == 0:
		return nil, fmt.Errorf("process_noise = 0: must be greater than 0 where noise = softplus")
	}
	return l, nil
}

// rank reads value_rank or var_rank.
func (l *kalmanLayer) rank(name string) int {
	word, ok := l.o[name].(string)
	if !ok {
		return l.o.Int(name)
	}
	if word == "block" {
		word = map[string]string{"plain value_rank": "full", "plain var_rank": "full", "mamba value_rank": "conv", "mamba var_rank": "dt"}[l.o.Word("block")+" "+name]
	}
	return map[string]int{"full": 0, "conv": -1, "dt": (l.d + 7) / 8}[word]
}

// innerWidth is the model's width times expand, which must be whole.
func innerWidth(d int, expand float64) (int, error) {
	if w := float64(d) * expand; w >= 1 && w == math.Trunc(w) {
		return int(w), nil
	}
	return 0, fmt.Errorf("expand = %g: width %d x %g must be a whole number of channels", expand, d, expand)
}

// stepRange reads an option lo:hi.
func stepRange(text string) (lo, hi float64, err error) {
	low, high, _ := strings.Cut(text, ":")
	lo, err1 := strconv.ParseFloat(low, 64)
	hi, err2 := strconv.ParseFloat(high, 64)
	if err1 != nil || err2 != nil || !(lo > 0 && lo <= hi && hi <= 1e6) {
		return 0, 0, fmt.Errorf("dt = %s: must be a range lo:hi of steps above 0, as 0.001:0.1", text)
	}
	return lo, hi, nil
}
