package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalmarz/kalmarz/layers/model"
)

// A stack has one spelling in a configuration, however it is given.
func TestStacksAreSpeltOnce(t *testing.T) {
	for _, c := range []struct {
		words []string
		mixer string
		names string
	}{
		{[]string{"mixer=gdn,gdn,softmax", "layers=4"}, "2xgdn,softmax", "gdn gdn softmax gdn"},
		{[]string{"mixer=2xgdn,1xsoftmax", "layers=4"}, "2xgdn,softmax", "gdn gdn softmax gdn"},
		{[]string{"mixer=kaczmarz every 3rd softmax", "layers=3"}, "kaczmarz every 3rd softmax", "kaczmarz kaczmarz softmax"},
		{[]string{"mixer=gpt: last softmax->kalman", "layers=2"}, "softmax: last softmax->kalman", "softmax kalman"},
		{[]string{"mixer=gpt-kalman", "layers=2"}, "softmax: last softmax->kalman", "softmax kalman"},
	} {
		e, err := Parse(c.words)
		if err != nil {
			t.Errorf("%v: %v", c.words, err)
			continue
		}
		var names []string
		for _, l := range e.Model.Layers {
			names = append(names, l.Mixer)
		}
		if e.Word("mixer") != c.mixer || strings.Join(names, " ") != c.names {
			t.Errorf("%v: %s, layers %v", c.words, e.Word("mixer"), names)
		}
		// The same words in a file, where the name is a quoted string.
		_, text, _ := strings.Cut(c.words[0], "=")
		_, layers, _ := strings.Cut(c.words[1], "=")
		path := filepath.Join(t.TempDir(), "x.toml")
		if err := os.WriteFile(path, []byte("layers = "+layers+"\n[mixer]\nname = \""+text+"\"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		back, err := Parse([]string{path})
		if err != nil || e.hash() != back.hash() {
			t.Errorf("%v in a file: %v", c.words, err)
		}
	}
	if _, err := fromTOML("x.toml", []byte("layers = 2\n[mixer]\nname = \"gdn evry 3rd softmax\"\n"), nil); err == nil ||
		err.Error() != `x.toml: mixer = gdn evry 3rd softmax: column 5: "evry": expected every, first or last` {
		t.Errorf("a bad pattern in a file: %v", err)
	}
}

// What a published stack sets, words override, and one layer's words everything.
func TestOptionsOfLayers(t *testing.T) {
	option := func(words string, layer int, name string) string {
		return parse(t, words).Model.Layers[layer-1].Options[name]
	}
	for _, c := range []struct {
		words string
		layer int
		name  string
		want  string
	}{
		{"mixer=kimi layers=4", 4, "rope", "false"},
		{"mixer=kimi layers=4 rope=true", 4, "rope", "true"},
		{"mixer=kimi layers=4 rope@softmax=true", 4, "rope", "true"},
		{"mixer=kimi layers=8 rope@8=true", 4, "rope", "false"},
		{"mixer=kimi layers=8 rope@8=true", 8, "rope", "true"},
		{"mixer=gdn layers=3 heads=4 heads@2=1", 1, "heads", "4"},
		{"mixer=gdn layers=3 heads=4 heads@2=1", 2, "heads", "1"},
		{"mixer=gdn,softmax layers=3 heads=4 heads@gdn=1 heads@3=2", 1, "heads", "1"},
		{"mixer=gdn,softmax layers=3 heads=4 heads@gdn=1 heads@3=2", 2, "heads", "4"},
		{"mixer=gdn,softmax layers=3 heads=4 heads@gdn=1 heads@3=2", 3, "heads", "2"},
	} {
		if got := option(c.words, c.layer, c.name); got != c.want {
			t.Errorf("%s: layer %d has %s = %s, want %s", c.words, c.layer, c.name, got, c.want)
		}
	}
	// A number that layers have with several values is part of the graph.
	if parse(t, "layers=2 eta=0.5 eta@2=1").graphKey() == parse(t, "layers=2 eta=0.25 eta@2=1").graphKey() {
		t.Error("layers with steps of their own share graphs with others")
	}
	if a, b := parse(t, "layers=2 eta=0.5"), parse(t, "layers=2 eta=0.5 eta@2=1"); strings.Join(Diff(a, b), " ") != "mixer.eta@2" {
		t.Errorf("one layer's step changes %v", Diff(a, b))
	}
}

// Configurations without routing are as they were before there was any, so that
// their runs keep their names; with it they are complete.
func TestRoutingIsDescribed(t *testing.T) {
	plain, routed := parse(t, "layers=2 mixer=gdn"), parse(t, "layers=2 mixer=gdn route=cler")
	for _, kv := range plain.Complete() {
		if strings.HasPrefix(kv.Key, "route") {
			t.Errorf("%s = %s without routing", kv.Key, kv.Value)
		}
	}
	if got := strings.Join(Diff(plain, routed), " "); got != "route route.detach route.error route.from route.gamma route.norm" {
		t.Errorf("routing adds %s", got)
	}
	if plain.graphKey() == routed.graphKey() {
		t.Error("a routed model shares graphs with a plain one")
	}
	if none := parse(t, "layers=2 mixer=gdn route=none"); none.hash() != plain.hash() {
		t.Error("route=none is another experiment")
	}
}

// Default words of an axis give way to what the words or their file say.
func TestWordsOfAnAxis(t *testing.T) {
	a, err := FindAxis("route_from")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.toml")
	if err := os.WriteFile(path, []byte("layers = 4\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ words, mixer, layers string }{
		{"", "gdn", "3"}, {"layers=5", "gdn", "5"}, {"mixer=kda", "kda", "3"}, {"task=mqar", "gdn", "3"}, {path, "gdn", "4"},
	} {
		e, err := baseline(strings.Fields(c.words), Varied{Axis: a})
		if err != nil {
			t.Fatal(err)
		}
		if e.Word("mixer") != c.mixer || e.Word("route") != "cler" || e.Values["layers"] != len(e.Model.Layers) || c.layers != strings.TrimSpace(string(rune('0'+len(e.Model.Layers)))) {
			t.Errorf("%q: %s, %s, %d layers", c.words, e.Word("mixer"), e.Word("route"), len(e.Model.Layers))
		}
	}
}

// Options of the axis's own mixer are not put before another's, nor beside
// their long names.
func TestAxisWordsOfItsMixer(t *testing.T) {
	a, err := FindAxis("erase")
	if err != nil {
		t.Fatal(err)
	}
	e, err := baseline([]string{"mixer.write=scalar"}, Varied{Axis: a})
	if err != nil || e.Model.Layers[0].Options["write"] != "scalar" {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := baseline([]string{"mixer=gdn"}, Varied{Axis: a}); err != nil {
		t.Error(err)
	}
	if got := folderName("softmax: last softmax->gdn"); got != "softmax_last_softmax=gdn" {
		t.Errorf("folder %s", got)
	}
}

// Every published stack is an experiment.
func TestHybridsAreExperiments(t *testing.T) {
	for _, h := range model.Hybrids {
		e, err := Parse([]string{"mixer=" + h.Name, "layers=6"})
		if err != nil {
			t.Errorf("%s: %v", h.Name, err)
			continue
		}
		for of, set := range h.Options {
			for name, want := range set {
				found := false
				for _, l := range e.Model.Layers {
					found = found || l.Mixer == of && l.Options[name] == want
				}
				if !found {
					t.Errorf("%s: no %s has %s = %s", h.Name, of, name, want)
				}
			}
		}
	}
}
