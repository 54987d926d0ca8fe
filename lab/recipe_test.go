package lab

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kalmarz/kalmarz/datasets"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/optim"
	"github.com/kalmarz/kalmarz/layers/option"
)

// TestGroupRule: of all mixers' parameters Muon has the hidden matrices with 16
// outputs or more, and AdamW the rest.
func TestGroupRule(t *testing.T) {
	muon, err := optim.Find("muon")
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]bool{}
	for _, k := range mixer.Registry {
		e := parse(t, "optimizer=muon mlp=24 mixer="+k.Name)
		entries, err := e.Model.Entries(mustOpen(t))
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		for _, g := range muon.Groups(muon.Options.Defaults(), entries) {
			total += len(g.Entries)
			for _, p := range g.Entries {
				short := strings.TrimPrefix(strings.TrimPrefix(p.Name, "layers/0/"), "mixer/")
				if g.Optimiser == "muon" {
					own[short] = true
					if len(p.Dims) != 2 || p.Dims[1] < 16 {
						t.Errorf("%s: muon has %s %v", k.Name, p.Name, p.Dims)
					}
				}
			}
		}
		if c, err := e.Model.Cost(mustOpen(t), e.form(), 4); err != nil || c.Parameters == 0 || total == 0 {
			t.Errorf("%s: %d parameters in groups (%v)", k.Name, total, err)
		}
	}
	for name := range own {
		leaf := strings.TrimSuffix(name, "/weight")
		for _, no := range []string{"embedding", "head", "conv", "norm", "bias", "A_log", "lambda_log", "delta", "process_noise"} {
			if strings.Contains(leaf, no) {
				t.Errorf("muon has %s", name)
			}
		}
	}
	for _, name := range []string{"q_proj/weight", "k_proj/weight", "v_proj/weight", "o_proj/weight", "g_proj/weight", "mlp/w1", "mlp/w2", "mlp/w3"} {
		if !own[name] {
			t.Errorf("muon does not have %s, only %v", name, own)
		}
	}
}

// TestConfigShowsGroups: what config show prints names every group, and is read
// back as the same experiment.
func TestConfigShowsGroups(t *testing.T) {
	words := []string{"optimizer=normuon", "schedule=wsd", "momentum=0.9", "decay_shape=linear", "layers=2", "mlp=16", "precision=bf16", "accumulate=4"}
	s := fresh()
	if err := config(context.Background(), s, append([]string{"show"}, words...)); err != nil {
		t.Fatal(err)
	}
	text := s.Out.(interface{ String() string }).String()
	for _, want := range []string{
		"[optimizer]\nname = \"normuon\"\nmomentum = 0.9\n", "[schedule]\nname = \"wsd\"\n", "# normuon updates 16 parameters,",
		"#   layers/*/mixer/q_proj/weight [32 32] x 2\n", "# adamw updates ", "#   embedding [32 32]\n", "#   layers/*/mixer/b_proj/weight [32 2] x 2\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	path := filepath.Join(t.TempDir(), "x.toml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if d := Diff(parse(t, path), parse(t, strings.Join(words, " "))); len(d) > 0 {
		t.Errorf("read back it differs in %v", d)
	}
}

// TestChoosers: every kind has an axis and a word of its own, its keys are
// short in any experiment, and they can be refused, dropped and set.
func TestChoosers(t *testing.T) {
	var taken []string // names of other keys
	for _, o := range options {
		taken = append(taken, o.Name)
	}
	for _, k := range mixer.Registry {
		taken = append(taken, k.Options.Names()...)
	}
	for _, name := range datasets.Names() {
		k, err := datasets.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, k.Options.Names()...)
	}
	for _, c := range choosers {
		if _, err := FindAxis(c.key); err != nil {
			t.Error(err)
		}
		for _, kind := range c.names {
			e := parse(t, c.key+"="+kind)
			for _, o := range c.options(kind) {
				if slices.Contains(taken, o.Name) {
					t.Errorf("%s %s: %s is also another key", c.key, kind, o.Name)
				}
				value := option.Format(o.Default)
				if !slices.Contains(e.Complete(), KeyValue{c.key + "." + o.Name, value}) {
					t.Errorf("%s %s: %s is not in the configuration", c.key, kind, o.Name)
				}
				plain, err := parse(t, c.key+"="+kind+" "+o.Name+"="+value).With(c.key, options.Find(c.key).Default.(string))
				if err != nil {
					t.Errorf("%s %s: %s does not give way to the default: %v", c.key, kind, o.Name, err)
				} else if d := Diff(plain, parse(t, "")); len(d) > 0 {
					t.Errorf("%s %s: %s leaves %v", c.key, kind, o.Name, d)
				}
			}
		}
	}
}

// TestRates: the schedule gives both learning rates.
func TestRates(t *testing.T) {
	for _, c := range []struct {
		words      string
		step       int
		rate, rest float64
	}{
		{"lr=1", 10, 1, 1},
		{"lr=1", 100, 0.1, 0.1},
		{"lr=1 optimizer=muon rest_lr=3", 5, 0.5, 1.5},
		{"lr=1 optimizer=muon rest_lr=3 schedule=wsd", 85, 0.55, 1.65},
		{"lr=1 optimizer=muon rest_lr=3 schedule=wsd rest_schedule=constant", 85, 0.55, 3},
		{"lr=2 optimizer=normuon rest_schedule=constant", 5, 1, 1},
		{"lr=2 optimizer=normuon schedule=constant", 100, 2, 2},
	} {
		rate, rest := parse(t, "steps=100 warmup=10 lr_floor=0.1 "+c.words).rates(c.step)
		if math.Abs(rate-c.rate) > 1e-12 || math.Abs(rest-c.rest) > 1e-12 {
			t.Errorf("%s, step %d: %g and %g, want %g and %g", c.words, c.step, rate, rest, c.rate, c.rest)
		}
	}
}
