package lab

import (
	"cmp"
	"fmt"
	"strings"
)

// Axis is what an ablation varies: one key of the configuration.
type Axis struct {
	Name, Doc string
	Key       string   // canonical
	Values    []string // tried if none are given
	Mixer     string   // the mixer that has it, taken if the words name none; "" for any
}

// Axes lists the axes; a new one joins with its line here.
var Axes = []*Axis{
	{"eta", "the Kaczmarz step: learned per token, or one relaxation for all", "mixer.eta", []string{"learned", "0.25", "0.5", "1"}, "kaczmarz"},
	{"eps", "ε in the Kaczmarz step's denominator", "mixer.eps", []string{"1e-06", "0.001", "0.1", "1"}, "kaczmarz"},
	{"norm", "what the step is divided by, and which of q and k have unit length", "mixer.norm",
		[]string{"relaxed_q_norm", "relaxed", "kaczmarz", "l2", "seq_only", "learned_scalar", "no_norm"}, "kaczmarz"},
	{"decay", "forgetting: a gate of its own, tied to η, or none", "mixer.decay", []string{"dual", "single", "none"}, "kaczmarz"},
	{"factor", "a factor on the step that falls with the position", "mixer.factor", []string{"none", "1/sqrt", "1/log", "1/t"}, "kaczmarz"},
	{"expand_v", "value width, hence state size", "mixer.expand_v", []string{"2", "4", "8"}, ""},
	{"conv", "width of the short convolutions", "mixer.conv", []string{"0", "2", "4"}, ""},
	{"ou", "how the Kalman filter's noise a token follows from continuous time", "mixer.discretisation", []string{"ou", "zoh", "none"}, "kalman"},
	{"process_noise", "initial process noise of the Kalman filter", "mixer.process_noise", []string{"0.001", "0.01", "0.1", "1"}, "kalman"},
	{"learn_noise", "whether the Kalman filter's process noise is trained", "mixer.learn_noise", []string{"true", "false"}, "kalman"},
	{"dt", "range of the initial time steps", "mixer.dt", []string{"0.001:0.1", "0.01:0.1", "0.1:1"}, "kalman"},
	{"state", "states a channel", "mixer.d_state", []string{"4", "8", "16", "32"}, "kalman"},
	{"readout", "read the filtered state or the prediction for the next token", "mixer.readout", []string{"posterior", "prior"}, "kalman"},
	{"mixer", "the whole mixer", "mixer", []string{"kaczmarz", "gdn", "deltanet", "linear"}, ""},
	{"depth", "number of blocks", "layers", []string{"1", "2", "4"}, ""},
	{"width", "model width", "width", []string{"16", "32", "64"}, ""},
	{"optimizer", "what updates the hidden matrices", "optimizer", []string{"adamw", "muon", "normuon"}, ""},
	{"schedule", "learning rate after the warm-up", "schedule", []string{"cosine", "wsd", "constant"}, ""},
	{"precision", "type of numbers: of all, or bf16 for projections and what mixers read", "precision", []string{"float32", "bf16"}, ""},
	{"accumulate", "parts of a batch whose gradients are added up", "accumulate", []string{"1", "2", "4"}, ""},
	rateAxis,
}

// FindAxis returns the axis of that name, or an error that lists the known.
func FindAxis(name string) (*Axis, error) {
	var names []string
	for _, a := range Axes {
		if a.Name == name {
			return a, nil
		}
		names = append(names, a.Name)
	}
	return nil, fmt.Errorf("unknown axis %q%s: known are %s", name, nearest(name, names), strings.Join(names, ", "))
}

// rateAxis is varied like the others, or chosen for each cell of another axis.
var rateAxis = &Axis{"lr", "peak learning rate", "lr", []string{"0.001", "0.003", "0.01", "0.03"}, ""}

// baseline makes the experiment that the cells of the axes differ from.
func baseline(words []string, axes ...Varied) (*Experiment, error) {
	of := ""
	for _, ax := range axes {
		if ax.Mixer != "" && of != "" && ax.Mixer != of && !namesMixer(words) {
			return nil, fmt.Errorf("axis %s is of mixer %s and axis %s of another: name mixers that have both, as mixer=%s,%s layers=2", axes[0].Name, of, ax.Name, of, ax.Mixer)
		}
		of = cmp.Or(ax.Mixer, of)
	}
	if of != "" && !namesMixer(words) {
		words = append([]string{"mixer=" + of}, words...)
	}
	return Parse(words)
}

// covers tells whether the axis may change a key. Another mixer, optimizer or
// schedule brings its own options with it.
func (a *Axis) covers(key string) bool {
	if c := chooserOf(key); c != nil && c.key == a.Key {
		return true
	}
	return key == a.Key || a.Key == "mixer" && strings.HasPrefix(key, "mixer.") || strings.HasPrefix(key, a.Key+"@")
}

// cell returns the baseline with one value of the axis. It refuses a cell that
// differs from the baseline in anything else.
func (a *Axis) cell(base *Experiment, value string) (*Experiment, error) {
	e, err := base.With(a.Key, value)
	if err != nil {
		return nil, fmt.Errorf("axis %s: %w", a.Name, err)
	}
	for _, key := range Diff(base, e) {
		if !a.covers(key) {
			return nil, fmt.Errorf("axis %s: %s = %s also changes %s: a cell may differ from the baseline in the axis alone", a.Name, a.Key, value, key)
		}
	}
	return e, nil
}
