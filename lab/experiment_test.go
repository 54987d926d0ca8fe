package lab

import (
	"strings"
	"testing"
)

func parse(t *testing.T, words string) *Experiment {
	t.Helper()
	e, err := Parse(strings.Fields(words))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestBadInput gives each kind of mistake and the start of the one line that
// answers it.
func TestBadInput(t *testing.T) {
	for _, c := range []struct{ words, want string }{
		{"steps", `"steps": expected key=value`},
		{"stepps=3", `unknown key "stepps" (did you mean steps?)`},
		{"etta=1", `unknown key "etta" (did you mean mixer.eta?)`},
		{"steps=3 steps=4", "steps is given twice"},
		{"mixer.eta=1 eta=1", "mixer.eta is given twice"},
		{"steps=0", "experiment: steps = 0: must be a whole number in [1, "},
		{"batch=x", "experiment: batch = x: must be a whole number"},
		{"lr=NaN", "experiment: lr = NaN: must be a number >= 0"},
		{"chunk=24", "experiment: chunk = 24: must be a power of two"},
		{"lengths=1,8,4", "experiment: lengths = 1,8,4: must be rising whole numbers"},
		{"task=mqarr", `unknown task "mqarr" (did you mean mqar?): known are `},
		{"mixer=gdnn", `unknown mixer "gdnn" (did you mean gdn?): known are `},
		{"mixer=gdn,kda", "experiment: mixer = gdn,kda: 2 mixers for layers = 1"},
		{"mixer=gdn,,kda", "mixer = gdn,,kda: column 5: \",\": expected a mixer's name"},
		{"mixer=2xgdn,1xkdaa", "mixer: column 7: unknown mixer \"kdaa\" (did you mean kda?): known are "},
		{"heads@2=1", "mixer.heads@2: there is no layer 2: must be in [1, 1]"},
		{"heads@0=1", "mixer.heads@0: there is no layer 0: must be in [1, 1]"},
		{"layers=2 mixer=gdn,softmax gate@1=off", "layer 1: mixer gdn: gate = off: must be one of silu, sigmoid, none"},
		{"layers=2 mixer=gdn,softmax theta@1=2", "mixer.theta@1: layer 1 is gdn, which has no theta"},
		{"steps@1=2", "steps@1: only a mixer's option can be of one layer"},
		{"route=clear", "experiment: route = clear: must be one of none, cler"},
		{"route=cler", "route cler: needs 2 or more layers of the delta rule"},
		{"route.gamma=head", "route none: takes no options, not gamma"},
		{"route.gama=head", `unknown key "route.gama" (did you mean route.gamma?)`},
		{"layers=2 route=clvr route.gamma=head", "route clvr: unknown option \"gamma\": known are hosts"},
		{"eta=-0.1", "layer 1: mixer kaczmarz: eta = -0.1: must be in [0, 2] or learned"},
		{"eta=2.1", "layer 1: mixer kaczmarz: eta = 2.1: must be in [0, 2] or learned"},
		{"eps=-1", "layer 1: mixer kaczmarz: eps = -1: must be a number >= 0"},
		{"norm=l3", "layer 1: mixer kaczmarz: norm = l3: must be one of l2, kaczmarz"},
		{"mixer=gdn eta=1", `unknown key "eta"`},
		{"len=0", "task mqar: len = 0: must be a whole number in [4, "},
		{"len=14 pairs=4", "task mqar: pairs = 4: 4*pairs = 16 must be at most len = 14"},
		{"len=17", "task mqar: len = 17: must be even"},
		{"vocab=33", "task mqar: vocab = 33: must be even"},
		{"preset=huge", "task mqar: preset = huge: known are quick"},
		{"mixer=softmax dk=5", "layer 1: mixer softmax: dk = 5: rotary positions need an even key width"},
		{"sizes=own heads=5", "layer 1: mixer kaczmarz: expand_k = 0.75: width 32 x 0.75 = 24 must be a multiple of heads = 5"},
		{"heads=3 qk_heads=2", "layer 1: mixer kaczmarz: qk_heads = 2: must divide heads = 3"},
		{"optimizer=sgd", "experiment: optimizer = sgd: must be one of adamw, muon, normuon"},
		{"momentum=0.9", "optimizer.momentum is an option of muon and normuon, not of optimizer = adamw"},
		{"optimizer=muon restore=true", "optimizer.restore is an option of normuon, not of optimizer = muon"},
		{"optimizer=muon momentum=1", "optimizer muon: momentum = 1: must be in [0, 0.9999]"},
		{"optimizer=muon momentumm=1", `unknown key "momentumm" (did you mean optimizer.momentum?)`},
		{"schedule=step", "experiment: schedule = step: must be one of cosine, wsd, constant"},
		{"decay_shape=linear", "schedule.decay_shape is an option of wsd, not of schedule = cosine"},
		{"precision=int8", "experiment: precision = int8: must be one of float32, bf16, float64"},
		{"accumulate=5", "experiment: accumulate = 5: must divide batch = 32"},
		{"task=words aux=3 accumulate=2", "experiment: accumulate = 2: must divide aux = 3"},
		{"conv=1", "layer 1: mixer kaczmarz: conv = 1: must be 0 or at least 2"},
		{"mixer=mamba2 dv=5", "layer 1: mixer mamba2: dv = 5: must divide the inner width"},
	} {
		_, err := Parse(strings.Fields(c.words))
		switch {
		case err == nil:
			t.Errorf("%s: no error, want %s", c.words, c.want)
		case !strings.HasPrefix(err.Error(), c.want):
			t.Errorf("%s: error %q, want %q", c.words, err, c.want)
		case strings.Contains(err.Error(), "\n"):
			t.Errorf("%s: the error has several lines", c.words)
		}
	}
}

// TestEveryKeyMatters sets each numeric and word option to another value: the
// complete configuration must change in that key alone, so no key is ignored
// on its way into the configuration.
func TestEveryKeyMatters(t *testing.T) {
	base := parse(t, "layers=3 mixer=gdn,softmax heads@2=1 mlp=8 route=cler")
	changed := 0
	for _, kv := range base.Complete() {
		for _, other := range []string{"8", "0.5", "true", "false", "none", "sigmoid", "recurrent", "normal", "ones", "own", "zero", "2,4", "rms", "bare", "head", "mean"} {
			if other == kv.Value {
				continue
			}
			e, err := base.With(kv.Key, other)
			if err != nil {
				continue // not a value for this key
			}
			if diff := Diff(base, e); kv.Key != "sizes" && (len(diff) == 0 || diff[0] != kv.Key) {
				t.Errorf("%s = %s changes %v", kv.Key, other, diff)
			}
			changed++
			break
		}
	}
	if changed < 25 {
		t.Errorf("only %d keys could be changed", changed)
	}
}

func TestCellDiffersInTheAxisAlone(t *testing.T) {
	for _, a := range Axes {
		base, err := baseline(nil, Varied{Axis: a})
		if err != nil {
			t.Fatalf("axis %s: %v", a.Name, err)
		}
		for _, v := range a.Values {
			e, err := a.cell(base, v)
			if err != nil {
				t.Errorf("axis %s = %s: %v", a.Name, v, err)
				continue
			}
			for _, key := range Diff(base, e) {
				if !a.covers(key) {
					t.Errorf("axis %s = %s changes %s", a.Name, v, key)
				}
			}
		}
	}
	// A key that drags another along is refused.
	if _, err := (&Axis{Name: "sizes", Key: "sizes"}).cell(parse(t, ""), "own"); err == nil || !strings.Contains(err.Error(), "also changes mixer.expand_k") {
		t.Errorf("an axis that changes two things: error %v", err)
	}
}

func TestAblationErrors(t *testing.T) {
	for _, c := range []struct {
		axis   string
		values []string
		words  string
		want   string
	}{
		{"etaa", nil, "", `unknown axis "etaa" (did you mean eta?): known are eta, eps, norm`},
		{"eta", []string{"-1"}, "", "axis eta: layer 1: mixer kaczmarz: eta = -1: must be in [0, 2] or learned"},
		{"eta", []string{"0.5", "0.50"}, "", "axis eta: eta = 0.5 and eta = 0.50 are the same experiment"},
		{"eta", nil, "mixer=gdn", `axis eta: unknown key "mixer.eta"`},
	} {
		ax, err := Vary(c.axis, c.values...)
		if err == nil {
			_, err = NewAblation(parse(t, c.words), nil, ax)
		}
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("ablate %s %v %s: error %v, want %s", c.axis, c.values, c.words, err, c.want)
		}
	}
}

// TestSharedGraphs: numbers that graphs take as inputs share a compiled graph,
// structure does not.
func TestSharedGraphs(t *testing.T) {
	key := func(words string) string { return parse(t, words).graphKey() }
	if key("eta=0.5") != key("eta=1") || key("eta=0.5 eps=1") != key("eta=0.5") || key("seed=1") != key("seed=2 lr=0.1 schedule=wsd decay_fraction=0.5") ||
		key("optimizer=muon") != key("optimizer=muon rest_lr=2 rest_schedule=constant") {
		t.Error("experiments that differ in a number do not share graphs")
	}
	if key("eta=0.5") == key("eta=learned") || key("norm=l2") == key("") || key("len=32") == key("") ||
		key("optimizer=muon") == key("") || key("optimizer=muon momentum=0.9") == key("optimizer=muon") || key("precision=bf16") == key("") || key("accumulate=2") == key("") {
		t.Error("experiments of different structure share graphs")
	}
}
