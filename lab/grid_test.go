package lab

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// TestGrid: every cell differs from the baseline in the two axes alone; read again
// from the folder, one that diverged and one that is missing keep their places.
func TestGrid(t *testing.T) {
	words := strings.Replace(tiny, "seeds=2", "seeds=1", 1) + "lengths=1,2"
	a := crossed(t, words, nil, strings.Fields("eta 0.5 1 x eps 0.001 0.1 1")...)
	for i, e := range a.Cells {
		want := []string{"mixer.eta", "mixer.eps"}
		for _, key := range Diff(a.Base, e) {
			if !slices.Contains(want, key) {
				t.Errorf("cell %d changes %s", i, key)
			}
		}
		if v := a.values(i); v[0] != []string{"0.5", "1"}[i/3] || v[1] != []string{"0.001", "0.1", "1"}[i%3] {
			t.Errorf("cell %d has %v", i, v)
		}
	}
	a.Cells[4].Task = poisoned{a.Cells[4].Task, 2}
	finish(t, a, session(), t.TempDir())
	if err := os.RemoveAll(filepath.Join(a.Dir, "0.5", "1")); err != nil {
		t.Fatal(err)
	}
	back, err := ReadAblation(a.Dir)
	if err != nil {
		t.Fatal(err)
	}
	matrix := back.matrices()[0]
	row := func(i int) string { return strings.Join(matrix.rows[i], "|") }
	if !strings.HasPrefix(row(0), "0.5|") || !strings.HasSuffix(row(0), " n=1|-") || !strings.Contains(row(1), "|n=0, 1 diverged|") {
		t.Errorf("the grid:\n%s", matrix.text())
	}
	text := back.text()
	for _, want := range []string{"accuracy at 1x in %", "accuracy at 2x fixedK in %", "accuracy at 2x scaledK in %", "rows eta, columns eps", "seed 1 step 3", "peak MB"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if n := len(back.table("fixedK").rows); n != 6 {
		t.Errorf("%d rows in the long table, want 6", n)
	}
	for _, name := range []string{"heat", "heat-2x", "heat-2x-scaledK", "accuracy", "training"} {
		csv, err := os.ReadFile(filepath.Join(a.Dir, name+".csv"))
		if err != nil || !strings.Contains(string(csv), "0.001") {
			t.Errorf("%s.csv: %v\n%s", name, err, csv)
		}
	}
	heat := back.heatMaps()[0].figure.Grid
	if n := len(heat.Cells[0][2]); n != 0 || len(heat.Cells[1][1]) != 1 || !math.IsNaN(heat.Cells[1][1][0]) || !(heat.Cells[0][0][0] >= 0) {
		t.Errorf("the heat map's cells: %v", heat.Cells)
	}
}

func TestAxisWords(t *testing.T) {
	for words, want := range map[string]string{
		"eta 1 0.5":             "eta[1 0.5]",
		"conv":                  "conv[0 2 4]",
		"eta 1 x lr":            "eta[1] lr[0.001 0.003 0.01 0.03]",
		"conv x eps 1":          "conv[0 2 4] eps[1]",
		"eta x":                 "no axis after x",
		"x eta":                 "no axis before x",
		"eta x lr x eps":        "eta[learned 0.25 0.5 1] lr[0.001 0.003 0.01 0.03] eps[1e-06 0.001 0.1 1]",
		"eta 0 x lr 1 x eta 1":  "axis eta is crossed with itself",
		"eta x lr x eps x conv": "eta x lr x eps x conv: a grid has two axes or three",
		"eta 0 x eta 1":         "axis eta is crossed with itself",
		"eta x epss":            `unknown axis "epss" (did you mean eps?)`,
		"eta --lrs 0.1":         "--lrs 0.1: must be two or more learning rates",
		"eta --lrs 0.1,-1":      "--lrs 0.1,-1: must be two or more learning rates",
		"eta --lrs 1,0.1":       "eta[learned 0.25 0.5 1] lrs[0.1 1]",
		"eta --lrs 0.1,1e-1":    "--lrs 0.1,1e-1: 0.1 and 1e-1 are the same learning rate",
		"lr --lrs 0.1,1":        "--lrs 0.1,1: axis lr varies the learning rate already",
	} {
		words, lrs, _ := strings.Cut(words, " --lrs ")
		axes, err := readAxes(strings.Fields(words))
		var rates []string
		if err == nil {
			rates, err = readRates(lrs, axes)
		}
		got := ""
		for _, ax := range axes {
			got += fmt.Sprintf("%s%v ", ax.Name, ax.Values)
		}
		if rates != nil {
			got += fmt.Sprintf("lrs%v", rates)
		}
		if err != nil {
			got = err.Error()
		}
		if got = strings.TrimSpace(got); got != want && (err == nil || !strings.HasPrefix(got, want)) {
			t.Errorf("%s: %s, want %s", words, got, want)
		}
	}
	two := []Varied{}
	for _, name := range []string{"eta", "ou"} {
		ax, err := Vary(name)
		if err != nil {
			t.Fatal(err)
		}
		two = append(two, ax)
	}
	if _, err := baseline(nil, two...); err == nil || !strings.HasPrefix(err.Error(), "axis eta is of mixer kaczmarz and axis ou of another") {
		t.Errorf("axes of two mixers: %v", err)
	}
	if _, err := baseline([]string{"mixer=kaczmarz,kalman", "layers=2"}, two...); err != nil {
		t.Errorf("a model with both mixers: %v", err)
	}
}

// outcomeOf is a finished run with these accuracies and losses.
func outcomeOf(validation, loss, test float64) *Record {
	return &Record{Status: Finished, Validation: &Evaluation{Micro: Number(validation), Loss: Number(loss)},
		Evals: []Evaluation{{Mode: "fixedK", Factor: 1, Micro: Number(test)}}}
}

// TestRatesAreChosenOnValidation: never by test results, by fewer lost runs first,
// with a warning at the edge, and only the chosen rate's test results are told.
func TestRatesAreChosenOnValidation(t *testing.T) {
	a := crossed(t, tiny+"lengths=1", []string{"0.001", "0.01", "0.1"}, "eta", "0.25", "0.5", "1")
	lost := &Record{Status: Diverged, Seed: 2, Step: 7}
	text := func(loss float64) *Record {
		r := outcomeOf(0.99-loss, loss, 0)
		r.Validation.Tokens = "bytes"
		return r
	}
	a.Runs = [][]*Record{
		{outcomeOf(0.5, 1, 0.91), outcomeOf(0.6, 1, 0.91)}, {outcomeOf(0.7, 1, 0.12), outcomeOf(0.5, 1, 0.14)}, {outcomeOf(0.5, 1, 0.92), outcomeOf(0.5, 1, 0.92)},
		{outcomeOf(0.5, 1, 0.21), outcomeOf(0.5, 1, 0.21)}, {outcomeOf(0.99, 0, 0.95), lost}, {outcomeOf(0.5, 0.9, 0.22), outcomeOf(0.5, 0.9, 0.24)},
		{text(0.3), text(0.5)}, {text(0.5), text(0.5)}, {nil, text(0.1)},
	}
	want := []row{{[]string{"0.25"}, 1, "0.01", ""}, {[]string{"0.5"}, 5, "0.1", "largest"}, {[]string{"1"}, 6, "0.001", "smallest"}}
	if got := a.rows(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("chosen %v, want %v", got, want)
	}
	shown := a.text()
	for _, want := range []string{"13.0 ±12.7", "23.0 ±12.7", "lr = 0.1: the chosen learning rate is the largest of --lrs", "lr = 0.001: the chosen learning rate is the smallest", "(1 lost)", "60.0 ±127.1 *"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in:\n%s", want, shown)
		}
	}
	for _, other := range []string{"91.0", "92.0", "21.0", "95.0"} {
		if strings.Contains(shown, other) {
			t.Errorf("the test result %s of a rate that was not chosen is shown:\n%s", other, shown)
		}
	}
	for _, f := range a.figures() {
		for _, s := range f.figure.Series {
			for _, y := range s.Y {
				if slices.ContainsFunc(y, func(v float64) bool { return v > 0.9 }) {
					t.Errorf("figure %s shows %v", f.name, y)
				}
			}
		}
	}
}

// TestRatesAreRunAndKept: every rate's runs have a folder and are used again, and
// what is chosen has validation scores from rows that are not the test's.
func TestRatesAreRunAndKept(t *testing.T) {
	words, out := strings.Replace(tiny, "seeds=2", "seeds=1", 1)+"lengths=1", t.TempDir()
	a := crossed(t, words, []string{"0.001", "0.1"}, "eta", "0.5", "1")
	finish(t, a, session(), out)
	for _, dir := range []string{"0.5/lr-0.001", "0.5/lr-0.1", "1/lr-0.001", "1/lr-0.1"} {
		r := readRecord(t, filepath.Join(a.Dir, dir, "seed-1"))
		if r.Validation == nil || r.Validation.Rows != 8 || r.key("lr") != dir[strings.Index(dir, "lr-")+3:] || r.Validation.Loss == r.Evals[0].Loss {
			t.Errorf("%s: lr %s, validation %+v", dir, r.key("lr"), r.Validation)
		}
		if r.Peak == nil || r.Peak.Bytes < 1<<20 || r.Peak.Of == "" {
			t.Errorf("%s: peak memory %+v", dir, r.Peak)
		}
	}
	again := crossed(t, words, []string{"0.001", "0.1"}, "eta", "0.5", "1")
	finish(t, again, session(), out)
	back, err := ReadAblation(a.Dir)
	if err != nil || again.Kept != 4 || fmt.Sprint(back.rows()) != fmt.Sprint(a.rows()) {
		t.Errorf("%d runs kept, rows %v, error %v", again.Kept, back.rows(), err)
	}
}

// TestPeakMemory: what is touched while it is measured is in it, on any system, and
// where the peak can be set back nothing from before.
func TestPeakMemory(t *testing.T) {
	const size = 128 << 20
	debug.FreeOSMemory() // or the block would take memory that is there already
	before := beginPeak()().Bytes
	peak := beginPeak()
	block := make([]byte, size)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	with := peak()
	if with.Bytes < before+size*3/4 {
		t.Errorf("%d bytes before, %d with %d more (%s)", before, with.Bytes, size, with.Of)
	}
	runtime.KeepAlive(block)
	block = nil
	debug.FreeOSMemory()
	if after := beginPeak()(); after.Of == residentInRun && after.Bytes > with.Bytes-size*3/4 {
		t.Errorf("%d bytes at the peak, %d after %d were given back", with.Bytes, after.Bytes, size)
	}
	if mb := (&Record{Backend: "xla:cuda (asked for)", Peak: &Memory{1e6, ""}}).peakMB(); !math.IsNaN(mb) || megabytes(mb) != "-" {
		t.Errorf("a device with memory of its own: %v", mb)
	}
	device := Memory{2e6, deviceProgram}
	if mb := (&Record{Backend: "xla:cuda (asked for)", Peak: &device}).peakMB(); mb != 2 {
		t.Errorf("what a program takes of it: %v", mb)
	}
	if m := device.more(Memory{3e6, residentInRun}); m != device {
		t.Errorf("the process's memory was taken for the device's: %+v", m)
	}
	if m := device.more(Memory{3e6, deviceProgram}); m.Bytes != 3e6 {
		t.Errorf("the larger part of a resumed run: %+v", m)
	}
}
