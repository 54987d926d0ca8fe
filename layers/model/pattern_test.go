package model

import (
	"slices"
	"strings"
	"testing"

	"github.com/kalmarz/kalmarz/layers/mixer"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		text   string
		n      int
		layers string
		spelt  string
	}{
		{"gdn", 3, "gdn gdn gdn", "gdn"},
		{"gdn,softmax", 3, "gdn softmax gdn", "gdn,softmax"},
		{" gdn , softmax ", 2, "gdn softmax", "gdn,softmax"},
		{"2xgdn,1xsoftmax", 6, "gdn gdn softmax gdn gdn softmax", "2xgdn,softmax"},
		{"gdn,gdn,softmax", 3, "gdn gdn softmax", "2xgdn,softmax"},
		{"kaczmarz every 3rd softmax", 7, "kaczmarz kaczmarz softmax kaczmarz kaczmarz softmax kaczmarz", "kaczmarz every 3rd softmax"},
		{"gdn every 2 softmax", 4, "gdn softmax gdn softmax", "gdn every 2nd softmax"},
		{"softmax: last softmax->kalman", 3, "softmax softmax kalman", "softmax: last softmax->kalman"},
		{"gpt last softmax -> kalman", 3, "softmax softmax kalman", "softmax: last softmax->kalman"},
		{"gpt-kalman", 2, "softmax kalman", "softmax: last softmax->kalman"},
		{"gdn first gdn->kda last gdn->softmax", 4, "kda gdn gdn softmax", "gdn: first gdn->kda last gdn->softmax"},
		{"gdn every 3rd softmax last softmax->kda", 6, "gdn gdn softmax gdn gdn kda", "gdn every 3rd softmax last softmax->kda"},
		{"gdn every 21st softmax", 21, strings.Repeat("gdn ", 20) + "softmax", "gdn every 21st softmax"},
		{"gdn every 12th softmax", 12, strings.Repeat("gdn ", 11) + "softmax", "gdn every 12th softmax"},
		{"eth", 3, "gdn gdn softmax", "gdn every 3rd softmax"},
		{"kimi: first kda->gdn", 4, "gdn kda kda softmax", "3xkda,softmax: first kda->gdn"},
	} {
		p, err := ParsePattern(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		got, err := p.Layers(c.n)
		if err != nil || strings.Join(got, " ") != c.layers {
			t.Errorf("%s: layers %v, %v, expected %s", c.text, got, err, c.layers)
		}
		if p.String() != c.spelt {
			t.Errorf("%s is spelt %s, expected %s", c.text, p, c.spelt)
		}
	}
}

func TestPatternErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "mixer = : column 1: expected a mixer's name",
		"gdn,":                     "mixer = gdn,: column 5: expected a mixer's name",
		"gdn,,kda":                 `mixer = gdn,,kda: column 5: ",": expected a mixer's name`,
		"0xgdn":                    "mixer = 0xgdn: column 1: 0 repeats: must be in [1, 1024]",
		"99999999999999999999xgdn": "mixer = 99999999999999999999xgdn: column 1: 99999999999999999999 repeats: must be in [1, 1024]",
		"1000xgdn,1000xkda":        "mixer = 1000xgdn,1000xkda: column 10: more than 1024 layers",
		"3gdn":                     `mixer = 3gdn: column 1: "3gdn": expected a mixer's name`,
		"gdn evry 3rd softmax":     `mixer = gdn evry 3rd softmax: column 5: "evry": expected every, first or last`,
		"gdn every third softmax":  `mixer = gdn every third softmax: column 11: "third": expected which, as 3rd`,
		"gdn every 3nd softmax":    `mixer = gdn every 3nd softmax: column 11: "3nd": expected which, as 3rd`,
		"gdn every 0 softmax":      `mixer = gdn every 0 softmax: column 11: "0": expected which, as 3rd`,
		"gdn every 3rd":            "mixer = gdn every 3rd: column 14: expected a mixer's name",
		"gdn:":                     "mixer = gdn:: column 5: expected every, first or last",
		"gdn: last gdn":            "mixer = gdn: last gdn: column 14: expected -> and the mixer",
		"gdn: last gdn kda":        `mixer = gdn: last gdn kda: column 15: "kda": expected -> and the mixer`,
		"gdn; kda":                 `mixer = gdn; kda: column 4: ";": expected every, first or last`,
		"ζ,gdn":                    `mixer = ζ,gdn: column 1: "ζ": expected a mixer's name`,
	} {
		if _, err := ParsePattern(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"gdn,kda", 1, "mixer = gdn,kda: 2 mixers for layers = 1"},
		{"gdn every 3rd softmax", 2, "mixer = gdn every 3rd softmax: there is no 3rd layer in layers = 2"},
		{"gdn: last softmax->kda", 2, "mixer = gdn: last softmax->kda: no layer is softmax that could become kda"},
		{"softmax: last softmax->kda", 1, "mixer = softmax: last softmax->kda: layers = 1 leaves none for softmax"},
		{"gdn every 1st kda", 3, "mixer = gdn every 1st kda: layers = 3 leaves none for gdn"},
	} {
		p, err := ParsePattern(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Layers(c.n); err == nil || err.Error() != c.want {
			t.Errorf("%s of %d: error %v, want %s", c.text, c.n, err, c.want)
		}
	}
}

// Every published stack is one of mixers and options that there are.
func TestHybrids(t *testing.T) {
	for _, h := range Hybrids {
		p, err := ParsePattern(h.Name)
		if err != nil {
			t.Fatalf("%s: %v", h.Name, err)
		}
		layers, err := p.Layers(8)
		if err != nil || p.Hybrid != h || h.Source == "" {
			t.Errorf("%s: %v, source %q", h.Name, err, h.Source)
		}
		for name := range h.Options {
			if !slices.Contains(layers, name) {
				t.Errorf("%s: options of %s, which is no layer", h.Name, name)
			}
		}
		for _, name := range layers {
			if _, err := mixer.New(name, 16, h.Options[name]); err != nil {
				t.Errorf("%s: %v", h.Name, err)
			}
		}
		if _, err := mixer.Find(h.Name); err == nil {
			t.Errorf("%s is a mixer's name too", h.Name)
		}
	}
}

// Whatever is read is spelt so that it is read again as the same layers.
func FuzzPattern(f *testing.F) {
	for _, text := range []string{"gdn", "2xgdn,softmax every 3rd kda", "gpt: last softmax->kalman first softmax->gdn", "a-b->c", "1x", "every", "last", "a every every b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePattern(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "mixer = ") || !strings.Contains(err.Error(), ": column ") || strings.Contains(err.Error(), "\n") {
				t.Fatalf("error %q", err)
			}
			return
		}
		again, err := ParsePattern(p.String())
		if err != nil || again.String() != p.String() || !slices.Equal(again.Cycle, p.Cycle) || !slices.Equal(again.changes, p.changes) {
			t.Fatalf("%q is spelt %q, read as %+v, %v", text, p, again, err)
		}
		for _, n := range []int{1, 5, 40} {
			a, errA := p.Layers(n)
			b, errB := again.Layers(n)
			if !slices.Equal(a, b) || (errA == nil) != (errB == nil) {
				t.Fatalf("%q of %d layers: %v, %v; spelt again %v, %v", text, n, a, errA, b, errB)
			}
		}
	})
}
