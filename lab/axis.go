package lab

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Axis is what an ablation varies: one key of the configuration.
type Axis struct {
	Name, Doc string
	Key       string   // canonical
	Values    []string // tried if none are given
	// Mixer is the mixer that has it, and further key=value words: each is taken
	// if the words do not say otherwise. "" for any.
	Mixer string
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
	{"route", "what layers pass to others: nothing, write errors or values, and controls", "route",
		[]string{"none", "cler", "cler-h", "clvr", "self", "wide"}, twoLayers},
	{"route_gamma", "CLER's gain Γ: one a layer, a head or a channel, or a gate on the value", "route.gamma", []string{"scalar", "head", "channel", "gate"}, twoLayers + " route=cler"},
	{"route_from", "whose error CLER adds: the nearest lower layer's, or all lower ones'", "route.from", []string{"nearest", "mean", "softmax"}, twoLayers + " route=cler layers=3"},
	{"route_error", "which error is routed: as it is written, or before the write gate", "route.error", []string{"written", "bare"}, twoLayers + " route=cler-h"},
	{"route_rank", "rank of CLVR's projection into the residual stream; 0 is full", "route.rank", []string{"0", "4", "16"}, twoLayers + " route=clvr"},
	{"hybrid", "which layers are attention: none, every third, second, all but the last, or all", "mixer",
		[]string{"gdn", "gdn every 3rd softmax", "gdn every 2nd softmax", "softmax: last softmax->gdn", "softmax"}, "gdn layers=3 task=palindrome"},
	{"forget", "decay of the delta rule's state: none, one a head or one a key channel", "mixer.forget", []string{"none", "scalar", "channel"}, "delta task=palindrome"},
	{"erase", "gate on what the delta rule erases: nothing is, one a head or one a key channel", "mixer.erase", []string{"none", "scalar", "channel"}, "delta write=channel task=palindrome"},
	{"write", "gate on what the delta rule writes: none, one a head or one a value channel", "mixer.write", []string{"none", "scalar", "channel"}, "delta write=scalar task=palindrome"},
	{"depth", "number of blocks", "layers", []string{"1", "2", "4"}, ""},
	{"width", "model width", "width", []string{"16", "32", "64"}, ""},
	{"optimizer", "what updates the hidden matrices", "optimizer", []string{"adamw", "muon", "normuon"}, ""},
	{"schedule", "learning rate after the warm-up", "schedule", []string{"cosine", "wsd", "constant"}, ""},
	{"precision", "type of numbers: of all, or bf16 for projections and what mixers read", "precision", []string{"float32", "bf16"}, ""},
	{"accumulate", "parts of a batch whose gradients are added up", "accumulate", []string{"1", "2", "4"}, ""},
	rateAxis,
}

// twoLayers is a stack with something to route, on a task that one layer of its
// kind does not master.
const twoLayers = "gdn layers=2 task=palindrome"

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
	given := fileKeys(words)
	for _, w := range words {
		key, _, _ := strings.Cut(w, "=")
		given = append(given, key)
	}
	for _, key := range given {
		_, bare, _ := strings.Cut(key, ".")
		given = append(given, bare)
	}
	named, of := namesMixer(words), ""
	own := map[string]string{}
	for _, ax := range axes {
		defaults, one := ax.words()
		if one != "" && of != "" && one != of && !named {
			return nil, fmt.Errorf("axis %s is of mixer %s and axis %s of another: name mixers that have both, as mixer=%s,%s layers=2", axes[0].Name, of, ax.Name, of, one)
		}
		of = cmp.Or(one, of)
		for key, value := range defaults {
			own[key] = cmp.Or(own[key], value) // of two axes the first counts
		}
	}
	for _, key := range slices.Sorted(maps.Keys(own)) {
		// Another mixer may not have what this one needs.
		if ofMixer := options.Find(key) == nil && !strings.Contains(key, "."); !slices.Contains(given, key) && !(named && ofMixer) {
			words = append([]string{key + "=" + own[key]}, words...)
		}
	}
	return Parse(words)
}

// words are the axis's own, by key, and its mixer.
func (a *Axis) words() (own map[string]string, mixer string) {
	own = map[string]string{}
	for i, w := range strings.Fields(a.Mixer) {
		if i == 0 {
			mixer, w = w, "mixer="+w
		}
		key, value, _ := strings.Cut(w, "=")
		own[key] = value // the last of a key counts
	}
	return own, mixer
}

// covers tells whether the axis may change a key. Another mixer, router,
// optimizer or schedule brings its own options with it.
func (a *Axis) covers(key string) bool {
	if c := chooserOf(key); c != nil && c.key == a.Key {
		return true
	}
	return key == a.Key || (a.Key == "mixer" || a.Key == "route") && strings.HasPrefix(key, a.Key+".") || strings.HasPrefix(key, a.Key+"@")
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
