package lab

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kalmarz/kalmarz/viz"
)

// fakeRun is a record of a run that was never trained.
type fakeRun struct {
	words  string // of the experiment; route=NAME may be among them
	seed   uint64
	status Status
	evals  []Evaluation
}

// at makes an evaluation at a multiple of the training length.
func at(mode string, factor int, accuracy, loss float64) Evaluation {
	return Evaluation{Mode: mode, Factor: factor, Micro: Number(accuracy), Loss: Number(loss), Perplexity: Number(math.Exp(loss))}
}

// writeFakeRuns puts records into folders below a new one.
func writeFakeRuns(t *testing.T, runs ...fakeRun) string {
	t.Helper()
	root := t.TempDir()
	for i, f := range runs {
		var words []string
		router := ""
		for _, w := range strings.Fields(f.words) {
			if name, ok := strings.CutPrefix(w, "route="); ok {
				router = name
				continue
			}
			words = append(words, w)
		}
		given := map[string]string{}
		for _, w := range words {
			key, value, _ := strings.Cut(w, "=")
			given[key] = value
		}
		var config []KeyValue
		if given["task"] == "text" { // without reading the text
			for key, value := range given {
				config = append(config, KeyValue{key, value})
			}
		} else {
			e, err := Parse(words)
			if err != nil {
				t.Fatal(err)
			}
			config = slices.DeleteFunc(e.Complete(), func(kv KeyValue) bool { return kv.Key == routeKey })
		}
		if router != "" {
			config = append(config, KeyValue{routeKey, router})
		}
		if f.status == "" {
			f.status = Finished
		}
		r := &Record{Config: config, Seed: f.seed, Status: f.status, Evals: f.evals, Started: time.Unix(int64(1000+i), 0)}
		dir := filepath.Join(root, fmt.Sprintf("run-%03d", i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := writeJSON(filepath.Join(dir, "run.json"), r); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// presetRuns has for each preset runs that it can show: two seeds, one of which
// diverged somewhere.
func presetRuns(name string) (out []fakeRun) {
	for seed := uint64(1); seed <= 2; seed++ {
		add := func(words string, evals ...Evaluation) {
			out = append(out, fakeRun{words: words, seed: seed, evals: evals})
		}
		switch name {
		case "kaczmarz-mqar":
			for _, m := range []string{"kaczmarz", "gdn"} {
				add("task=mqar mixer="+m, at("fixedK", 1, 1, 0), at("fixedK", 8, 0.7+0.1*float64(seed), 1), at("scaledK", 1, 1, 0), at("scaledK", 2, 0.9, 0))
			}
		case "kaczmarz-perplexity":
			add("task=text mixer=gdn lengths=1,2", at("", 1, 0.5, 2), at("", 2, 0.5, 2.5))
		case "kalman-a5":
			for _, length := range []int{3, 4} {
				for depth := 1; depth <= 2; depth++ {
					accuracy := 0.5
					if depth == 2 && length == 3 {
						accuracy = 0.95
					}
					add(fmt.Sprintf("task=words group=a5 mixer=kalman lengths=1 len=%d layers=%d", length, depth), at("len", 1, accuracy, 1))
				}
			}
		case "kalman-mad":
			for _, task := range []string{"compression", "fuzzy-recall", "recall", "memorization", "noisy-recall", "selective-copy"} {
				add("mixer=gdn lengths=1 task="+task, at("", 1, 0.5, 1))
			}
		case "kalman-ou":
			for _, noise := range []string{"none", "ou"} {
				add("task=selective-copy mixer=kalman lengths=1 discretisation="+noise, at("", 1, 0.5, 1))
			}
		case "routing-loss":
			add("mixer=gdn lengths=1 route=none", at("fixedK", 1, 0.5, 1))
			add("mixer=gdn lengths=1 route=clvr", at("fixedK", 1, 0.5, 0.9+0.01*float64(seed)))
			add("mixer=gdn lengths=1 route=cler", at("fixedK", 1, 0.5, 1))
		}
	}
	last := &out[len(out)-1]
	last.status, last.evals = Diverged, nil
	return out
}

func TestPresetsFromRuns(t *testing.T) {
	onPureGo(t)
	for _, p := range presetSources {
		t.Run(p.name, func(t *testing.T) {
			root := writeFakeRuns(t, presetRuns(p.name)...)
			text, err := say(t, "figure", root, "--preset", p.name, "--style", "notebook", "--dark", "--out", filepath.Join(root, "figures"))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(text, filepath.Join(root, "figures", p.name+".svg")) {
				t.Errorf("%q does not name the figure", text)
			}
			svg, err := os.ReadFile(filepath.Join(root, "figures", p.name+".svg"))
			v, _ := viz.PresetNamed(p.name)
			if err != nil || !strings.Contains(string(svg), v.Paper) || !strings.Contains(string(svg), "Own runs") {
				t.Errorf("%v: the figure does not name arXiv %s and the runs", err, v.Paper)
			}
			// The same of runs that all diverged, and of one that is alone.
			all := presetRuns(p.name)
			for i := range all {
				all[i].status, all[i].evals = Diverged, nil
			}
			if _, err := say(t, "figure", writeFakeRuns(t, all...), "--preset", p.name, "--out", filepath.Join(root, "lost")); err != nil {
				t.Errorf("all diverged: %v", err)
			}
			b, err := os.ReadFile(filepath.Join(root, "lost", p.name+".svg"))
			if err != nil || !strings.Contains(string(b), "diverged") {
				t.Errorf("all diverged: %v, and the figure does not say it", err)
			}
			var one []fakeRun
			for _, f := range presetRuns(p.name) {
				if f.seed == 1 {
					one = append(one, f)
				}
			}
			if _, err := say(t, "figure", writeFakeRuns(t, one...), "--preset", p.name, "--out", filepath.Join(root, "one")); err != nil {
				t.Errorf("one seed: %v", err)
			}
		})
	}
}

// drawnValues reads what a preset drew of runs: series@x -> values.
func drawnValues(t *testing.T, preset string, runs ...fakeRun) map[string]string {
	t.Helper()
	root := writeFakeRuns(t, runs...)
	if _, err := say(t, "figure", root, "--preset", preset, "--out", root); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(root, preset+".csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, l := range lines[1:] {
		if l[2] == "" { // no source: one's own
			where := l[4]
			if where == "" {
				where = l[3]
			}
			out[l[1]+"@"+where] = strings.TrimRight(strings.Join(l[10:], " "), " ")
		}
	}
	return out
}

// The values in the figure are those of the runs, each in its series and place.
func TestPresetValues(t *testing.T) {
	for _, c := range []struct {
		preset string
		runs   []fakeRun
		want   map[string]string
	}{
		{"kaczmarz-mqar", presetRuns("kaczmarz-mqar"), map[string]string{
			"kaczmarz@1x": "1 1", "kaczmarz@8x": "0.7999999999999999 0.8999999999999999", "gdn@1x": "1 NaN", "gdn@8x": "0.7999999999999999 NaN"}},
		{"kalman-a5", presetRuns("kalman-a5"), map[string]string{"kalman@3": "2 2", "kalman@4": "+Inf +Inf"}},
		{"kalman-ou", presetRuns("kalman-ou"), map[string]string{"OU process noise@selective copy": "0.5 NaN", "no process noise@selective copy": "0.5 0.5"}},
		{"routing-loss", []fakeRun{
			{words: "mixer=gdn route=none", seed: 1, evals: []Evaluation{at("fixedK", 1, 1, 0.5)}},
			{words: "mixer=gdn route=none", seed: 2, evals: []Evaluation{at("fixedK", 1, 1, 0.75)}},
			{words: "mixer=gdn route=clvr", seed: 1, evals: []Evaluation{at("fixedK", 1, 1, 0.25)}},
			{words: "mixer=gdn route=clvr", seed: 2, evals: []Evaluation{at("fixedK", 1, 1, 0.25)}},
			{words: "mixer=gdn route=clvr", seed: 3, evals: []Evaluation{at("fixedK", 1, 1, 0.25)}}, // without a twin
		}, map[string]string{"gdn@clvr": "-0.25 -0.5"}},
		// Runs that differ in a key are series of their own; of two runs of the same
		// seed the later one counts; what has not ended is left out.
		{"kalman-mad", []fakeRun{
			{words: "task=compression mixer=kaczmarz eta=0.5", seed: 1, evals: []Evaluation{at("", 1, 0.25, 1)}},
			{words: "task=compression mixer=kaczmarz eta=0.5 seeds=9", seed: 1, evals: []Evaluation{at("", 1, 0.5, 1)}},
			{words: "task=compression mixer=kaczmarz eta=1", seed: 1, evals: []Evaluation{at("", 1, 0.75, 1)}},
			{words: "task=compression mixer=kaczmarz eta=1", seed: 2, status: Stopped},
		}, map[string]string{"kaczmarz, eta = 0.5@compression": "0.5", "kaczmarz, eta = 1@compression": "0.75"}},
	} {
		got := drawnValues(t, c.preset, c.runs...)
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", c.preset, got, c.want)
		}
	}
	if got := drawnValues(t, "kalman-mad", presetRuns("kalman-mad")...); len(got) != 6 || got["gdn@in-context recall"] != "0.5 0.5" {
		t.Errorf("kalman-mad: %v: want all six tasks", got)
	}
}

func TestPresetErrors(t *testing.T) {
	mqar := writeFakeRuns(t, fakeRun{words: "task=mqar mixer=gdn lengths=1", seed: 1, evals: []Evaluation{at("fixedK", 1, 1, 0)}})
	shallow := writeFakeRuns(t, fakeRun{words: "task=words group=a5 mixer=gdn", seed: 1, evals: []Evaluation{at("len", 1, 1, 0)}})
	noisy := writeFakeRuns(t, fakeRun{words: "task=compression mixer=kalman", seed: 1, evals: []Evaluation{at("", 1, 1, 0)}})
	alone := writeFakeRuns(t, fakeRun{words: "mixer=gdn route=clvr", seed: 1, evals: []Evaluation{at("fixedK", 1, 1, 0)}})
	stopped := writeFakeRuns(t, fakeRun{words: "task=mqar", seed: 1, status: Stopped})
	for _, c := range []struct{ words, want string }{
		{mqar + " --preset kaczmarz-mqar", "tested at their training length alone; to make some: ablate mixer kaczmarz gdn task=mqar"},
		{mqar + " --preset kalman-a5", "takes runs of task=words group=a5 of several depths, for each length: none of the 1 runs is one; to make some: ablate depth"},
		{mqar + " --preset kalman", "to make some: ablate depth"},
		{mqar + " --preset routing-loss", "key route"},
		{shallow + " --preset kalman-a5", "these are all of depth 1; to make some: ablate depth 1 2"},
		{noisy + " --preset kalman-ou", "none of the 1 has discretisation=none; to make some: ablate ou"},
		{alone + " --preset routing-loss", "none of these has a twin with route=none"},
		{stopped + " --preset kaczmarz-mqar", "none of the 0 runs is one"},
		{mqar + " --preset kaczmarz-mqr", "did you mean kaczmarz-mqar?"},
		{"--preset kaczmarz-mqar", "expected runs"},
		{t.TempDir() + "/nothing --preset kaczmarz-mqar", "no run "},
		{mqar + " --style poster", "--style poster: known are paper, paper-wide, talk, notebook"},
		{"", "figure --list shows the presets"},
	} {
		_, err := say(t, "figure", append(strings.Fields(c.words), "out="+t.TempDir())...)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("figure %s: error %v, want one line with %q", c.words, err, c.want)
		}
	}
}

// Every preset of viz can be drawn from runs, is listed, and is made by an
// ablation that there is.
func TestPresetsAreListed(t *testing.T) {
	list, err := say(t, "figure", "--list")
	if err != nil {
		t.Fatal(err)
	}
	help, err := say(t, "help", "figure")
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, v := range viz.Presets() {
		known = append(known, v.Name)
		if !strings.Contains(list, v.Name+" (arXiv "+v.Paper+")") || !strings.Contains(help, v.Name) {
			t.Errorf("figure --list or help figure lacks %s", v.Name)
		}
	}
	if !slices.Equal(known, presetNames()) {
		t.Errorf("viz has the presets %v, lab %v", known, presetNames())
	}
	for _, p := range presetSources {
		words := strings.Fields(p.make)
		ax, err := FindAxis(words[1])
		if words[1] == routeKey && err != nil {
			continue // until an experiment has the key
		}
		if err != nil || words[0] != "ablate" {
			t.Errorf("%s: %s: %v", p.name, p.make, err)
			continue
		}
		values, keys := []string{}, []string{}
		for _, w := range words[2:] {
			if strings.Contains(w, "=") {
				keys = append(keys, w)
			} else {
				values = append(values, w)
			}
		}
		if ax.Mixer != "" && !namesMixer(keys) {
			keys = append(keys, "mixer="+ax.Mixer)
		}
		for _, v := range values {
			if strings.Contains(p.make, "task=text") {
				continue // its words are read when a text is
			}
			if _, err := Parse(append([]string{ax.Key + "=" + v}, slices.DeleteFunc(keys, func(w string) bool { return strings.HasPrefix(w, ax.Key+"=") })...)); err != nil {
				t.Errorf("%s: %s: %v", p.name, p.make, err)
			}
		}
	}
}
