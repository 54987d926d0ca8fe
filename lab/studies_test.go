package lab

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestStudiesDifferInTheirAxesAlone: every cell of every study is built, and
// differs from the baseline in the keys of its axes and in nothing else.
func TestStudiesDifferInTheirAxesAlone(t *testing.T) {
	for _, st := range Studies {
		s := fresh()
		a, _, err := s.ablation(append(strings.Fields(st.Axes), st.with(nil)...), 1, nil, nil)
		if err != nil {
			t.Errorf("%s: %v", st.Name, err)
			continue
		}
		for i, e := range a.Cells {
			for _, key := range Diff(a.Base, e) {
				if !slices.ContainsFunc(a.Axes, func(ax Varied) bool { return ax.covers(key) }) {
					t.Errorf("%s: cell %s also changes %s", st.Name, a.label(i), key)
				}
			}
		}
		for _, w := range strings.Fields(st.Words) { // what it says is what it runs
			key, value, _ := strings.Cut(w, "=")
			canonical := canonicalKeys(strings.Fields(st.Words))(key)
			at := slices.IndexFunc(a.Base.complete, func(kv KeyValue) bool { return kv.Key == canonical })
			if at < 0 || a.Base.complete[at].Value != value {
				t.Errorf("%s: %s is not in the baseline", st.Name, w)
			}
		}
	}
}

// TestStudy runs a study at the smallest size, changed by words: its table is
// printed and the figures that it shows are drawn.
func TestStudy(t *testing.T) {
	onPureGo(t)
	st, err := findStudy("hybrid")
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	words := "steps=3 width=8 heads=1 batch=2 warmup=1 eval_rows=4 seeds=1 lengths=1 out=" + out
	text, err := say(t, "study", append([]string{st.Name}, strings.Fields(words)...)...)
	if err != nil || !strings.Contains(text, "3 steps of 2 rows") {
		t.Errorf("%v\n%s", err, text)
	}
	for _, figure := range st.Shows {
		found, _ := filepath.Glob(filepath.Join(out, "*", figure+".svg"))
		if len(found) != 1 || !strings.Contains(text, "figure "+found[0]) {
			t.Errorf("figure %s: %v in\n%s", figure, found, text)
		}
	}
}

func TestStudyWords(t *testing.T) {
	st := &Study{Axes: "eta", Words: "mixer=kaczmarz task=palindrome preset=small eps=0.1 steps=80"}
	for words, want := range map[string]string{
		"":                      "mixer=kaczmarz task=palindrome preset=small eps=0.1 steps=80",
		"steps=5":               "steps=5 mixer=kaczmarz task=palindrome preset=small eps=0.1",
		"mixer.eps=1":           "mixer.eps=1 mixer=kaczmarz task=palindrome preset=small steps=80",
		"task=mqar pairs=2":     "task=mqar pairs=2 mixer=kaczmarz eps=0.1 steps=80",
		"mixer=gdn":             "mixer=gdn task=palindrome preset=small steps=80",
		"task=mqar mixer=gdn":   "task=mqar mixer=gdn steps=80",
		"backend=go task=mqar":  "backend=go task=mqar mixer=kaczmarz eps=0.1 steps=80",
		"layers=2 mixer.eta=.5": "layers=2 mixer.eta=.5 mixer=kaczmarz task=palindrome preset=small eps=0.1 steps=80",
	} {
		if got := strings.Join(st.with(strings.Fields(words)), " "); got != want {
			t.Errorf("%s: %s, want %s", words, got, want)
		}
	}
	for words, want := range map[string]string{
		"":                   "a study is missing",
		"gate":               `unknown study "gate" (did you mean gates?)`,
		"depth 1 2":          `"1": study takes key=value; for other values of its axes: ablate mixer`,
		"gates mixer=gdn":    "axis",
		"routing stesp=5":    `unknown key "stesp" (did you mean steps?)`,
		"routing --agian":    "unknown flag --agian (did you mean again?)",
		"optimizer --lrs 1":  "--lrs 1: axis lr varies the learning rate already",
		"hybrid jobs=nobody": "jobs = nobody",
	} {
		if _, err := say(t, "study", strings.Fields(words)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("study %s: error %v, want %s", words, err, want)
		}
	}
	if text, err := say(t, "studies", "gates"); err != nil || !strings.Contains(text, "ablate forget none scalar channel x erase none scalar channel x write none scalar channel mixer=delta") {
		t.Errorf("%v\n%s", err, text)
	}
	if got := complete([]string{"study"}, "g"); !slices.Contains(got, "gates") {
		t.Errorf("study is completed by %v", got)
	}
}

// TestResultsOverAnAxis: what the figures over the last axis hold, of runs that
// are made up: means by seed, one that diverged, one that is missing.
func TestResultsOverAnAxis(t *testing.T) {
	run := func(seed uint64, accuracy, loss float64) *Record {
		return &Record{Status: Finished, Seed: seed, Evals: []Evaluation{{Mode: "fixedK", Factor: 1, Micro: Number(accuracy), Loss: Number(loss)}}}
	}
	lost := &Record{Status: Diverged}
	a := crossed(t, tiny+"lengths=1", nil, strings.Fields("norm relaxed kaczmarz x lr 0.001 0.1")...)
	a.Runs = [][]*Record{
		{run(1, 0.1, 2), run(2, 0.2, 3)}, {run(1, 0.5, 1), lost},
		{run(1, 0.3, 2), nil}, {lost, lost},
	}
	f := a.overAxis()
	if len(f) != 1 || f[0].name != "curves" || len(f[0].figure.Panels) != 2 {
		t.Fatalf("figures %v", f)
	}
	accuracy, loss := f[0].figure.Panels[0], f[0].figure.Panels[1]
	if s := accuracy.Series[0]; s.Name != "norm = relaxed" || !slices.Equal(s.X, []float64{0.001, 0.1}) || !slices.Equal(s.Y[0], []float64{0.1, 0.2}) || s.Y[1][0] != 0.5 || !math.IsNaN(s.Y[1][1]) {
		t.Errorf("accuracy: %+v", s)
	}
	if s := loss.Series[1]; !slices.Equal(s.Y[0], []float64{2}) || len(s.Y[1]) != 2 || !math.IsNaN(s.Y[1][0]) {
		t.Errorf("loss: %+v", s)
	}
	a = crossed(t, tiny+"lengths=1", nil, strings.Fields("lr 0.001 0.1 x norm relaxed kaczmarz")...)
	a.Runs = [][]*Record{
		{run(1, 0, 2), run(2, 0, 3)}, {run(1, 0, 1.5), run(2, 0, 4)},
		{run(1, 0, 2), nil}, {lost, run(2, 0, 1)},
	}
	f = a.overAxis()
	if len(f) != 1 || f[0].name != "change" || len(f[0].figure.Series) != 2 {
		t.Fatalf("figures %v", f)
	}
	if s := f[0].figure.Series[0]; !slices.Equal(s.Y[0], []float64{-0.5, 1}) {
		t.Errorf("differences %v, want those of each seed", s.Y)
	}
	if s := f[0].figure.Series[1]; len(s.Y[0]) != 1 || !math.IsNaN(s.Y[0][0]) {
		t.Errorf("differences %v, want one that is lost and none of a missing run", s.Y)
	}
	a.Runs = [][]*Record{{nil}, {nil}, {nil}, {nil}}
	if f := a.overAxis(); f != nil {
		t.Errorf("figures without runs: %v", f)
	}
}

// TestGridOfThree: a matrix row for each pair of values of the first two axes,
// the same in the heat map, and the folder is read back.
func TestGridOfThree(t *testing.T) {
	a := crossed(t, strings.Replace(tiny, "seeds=2", "seeds=1", 1)+"lengths=1", nil, strings.Fields("eta 0.5 1 x eps 0.001 0.1 x lr 0.001 0.01")...)
	finish(t, a, session(), t.TempDir())
	b, err := ReadAblation(a.Dir)
	if err != nil {
		t.Fatal(err)
	}
	m := b.matrices()[0]
	var rows []string
	for _, row := range m.rows {
		rows = append(rows, strings.Join(row[:2], " "))
	}
	if got := strings.Join(m.header, "|"); got != "eta|eps x lr|0.001|0.01" || !slices.Equal(rows, []string{"0.5 0.001", "0.5 0.1", "1 0.001", "1 0.1"}) {
		t.Errorf("matrix %s of %v", got, rows)
	}
	if g := b.heatMaps()[0].figure.Grid; !slices.Equal(g.Rows, []string{"0.5, 0.001", "0.5, 0.1", "1, 0.001", "1, 0.1"}) || len(g.Cells) != 4 || len(g.Cells[3]) != 2 {
		t.Errorf("heat map %v", g)
	}
	for _, name := range []string{"heat", "curves", "accuracy", "training"} {
		if _, err := os.Stat(filepath.Join(a.Dir, name+".svg")); err != nil {
			t.Error(err)
		}
	}
}
