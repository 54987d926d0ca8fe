package cell

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kalmarz/kalmarz/lab"
	"github.com/kalmarz/kalmarz/viz"
)

// TestMain makes the test's program a cell's where a sweep starts it.
func TestMain(m *testing.M) {
	if lab.IsWorker() {
		fmt.Println("printed by the cell")
		Table("a", Row{1})
		Run("sweep eta 0.5 1 steps=4 seeds=1 jobs=2")
		panic("Run returned")
	}
	os.Exit(m.Run())
}

// screen is a notebook that remembers what it was told.
type screen struct {
	log     []string
	updated func() // called at the first update
}

func (s *screen) show(html, _ string) { s.log = append(s.log, "html "+html) }
func (s *screen) update(id, html string) {
	s.log = append(s.log, "update "+id+" "+html)
	if s.updated != nil {
		s.updated()
		s.updated = nil
	}
}
func (s *screen) svg(document string) { s.log = append(s.log, "svg "+document) }
func (s *screen) sync()               { s.log = append(s.log, "sync") }

// find returns the first entry that begins with kind and holds all parts, and
// its place.
func (s *screen) find(kind string, parts ...string) (string, int) {
entries:
	for i, e := range s.log {
		for _, p := range append(parts, "") {
			if !strings.HasPrefix(e, kind) || !strings.Contains(e, p) {
				continue entries
			}
		}
		return e, i
	}
	return "", -1
}

// inNotebook makes the package show on a screen, in a folder of its own.
func inNotebook(t *testing.T) *screen {
	t.Chdir(t.TempDir())
	t.Setenv("GOMLX_BACKEND", "go:parallelism=-1")
	s := &screen{}
	out = &output{d: s, live: &live{d: s}}
	t.Cleanup(func() { out, lab.Tables = newOutput(), nil })
	return s
}

func TestAblationInANotebook(t *testing.T) {
	s := inNotebook(t)
	if err := run("ablate eta 0.5 1 steps=4 seeds=2 batch=4 eval_rows=8 lengths=1"); err != nil {
		t.Fatal(err)
	}
	_, live := s.find("update ", "<svg", "run 1 of 4: eta = 0.5, seed 1, step ")
	last, end := "", -1
	for i, e := range s.log {
		if strings.HasPrefix(e, "update ") {
			last, end = e, i
		}
	}
	_, table := s.find("html <table", ">eta</th>", ">0.5</td>", ">1</td>", "diverged")
	_, figure := s.find("svg ", "<svg", "accuracy against length")
	if live < 0 || end < live || table < end || figure < table || s.log[len(s.log)-1] != "sync" {
		t.Fatalf("live figure at %d, its end at %d, table at %d, figure at %d of\n%.4000s", live, end, table, figure, strings.Join(s.log, "\n"))
	}
	if strings.Contains(last, "tokens/s") || !strings.Contains(last, "[4/4] eta = 1, seed 2") || !strings.Contains(last, "eta = 1</text>") {
		t.Errorf("the last state of the live block: %.2000s", last)
	}
	for _, e := range s.log {
		if strings.Contains(e, mark) {
			t.Errorf("a mark is shown: %.500s", e)
		}
	}
}

// TestSweepInANotebook: its processes are the cell's program again.
func TestSweepInANotebook(t *testing.T) {
	s := inNotebook(t)
	if err := run("sweep eta 0.5 1 steps=4 seeds=1 batch=4 eval_rows=8 lengths=1 jobs=2"); err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"0.5", "1"} {
		if _, at := s.find("update ", "eta = "+value+", seed 1  loss"); at < 0 {
			t.Errorf("nothing is told of eta = %s:\n%.3000s", value, strings.Join(s.log, "\n"))
		}
	}
	if _, at := s.find("html <table", ">eta</th>"); at < 0 {
		t.Error("no table")
	}
}

// TestInterrupt: the notebook's interrupt ends training after its step and leaves
// a run that can go on.
func TestInterrupt(t *testing.T) {
	s := inNotebook(t)
	s.updated = func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	}
	err := run("train steps=1000000 seeds=1 batch=4; mixers")
	if err == nil || !strings.Contains(err.Error(), "cell.Run:1: train: stopped after step") {
		t.Errorf("error %v", err)
	}
	found, _ := filepath.Glob("runs/train-*-seed-1/run.json")
	if len(found) != 1 {
		t.Errorf("runs %v", found)
	}
}

func TestOutputInOrder(t *testing.T) {
	s := inNotebook(t)
	if err := run("tasks mqar; mixers gdn\nhelp train"); err != nil {
		t.Fatal(err)
	}
	if text, at := s.find("html <pre", "mqar: "); at != 0 || strings.Contains(text, "gdn") {
		t.Errorf("the text before the first table is %q", text)
	}
	if _, at := s.find("html <table", "task.len"); at != 1 {
		t.Errorf("the first table is at %d", at)
	}
	if _, at := s.find("html <table", "mixer.a_init"); at < 2 {
		t.Errorf("the table of options is at %d", at)
	}
}

func TestErrorsInANotebook(t *testing.T) {
	inNotebook(t)
	for lines, want := range map[string]string{
		"mixers\nablate eta 7":     "cell.Run:2: ablate: axis eta: layer 1: mixer kaczmarz: eta = 7: must be in [0, 2] or learned",
		"trian":                    "cell.Run:1: unknown command \"trian\"",
		"ablate":                   "these are known:\naxis ",
		"probe out=/dev/null/here": "/dev/null",
	} {
		err := run(lines)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), mark) {
			t.Errorf("%s: error %v, want one with %q", lines, err, want)
		}
	}
	if err := run("mixers; quit; trian"); err != nil {
		t.Errorf("after quit: %v", err)
	}
}

// A cell's own graph without memory ends in one line; what Run says already stays.
func TestOutOfMemoryInACell(t *testing.T) {
	for given, want := range map[string]string{
		"failed to execute graph \"a#1\": backend \"xla\": failed to execute computation \"a#1\": PJRT error (code=8): RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2147483648 bytes.\nstack": "out of device memory: 2.1 GB more were asked for; compute less at once, or see with nvidia-smi who else has memory there",
		"cell.Run:1: train: out of device memory: 2.1 GB more were asked for; take batch= smaller":                                                                                                          "cell.Run:1: train: out of device memory: 2.1 GB more were asked for; take batch= smaller",
		"table\nof two lines": "table\nof two lines",
	} {
		if got := said(errors.New(given)); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}

func TestShow(t *testing.T) {
	s := inNotebook(t)
	f := &viz.Figure{Kind: viz.Lines, Title: "a title", X: viz.Axis{Label: "x", Unit: "1"}, Y: viz.Axis{Label: "y", Unit: "1"},
		Series: []viz.Series{{Name: "a", X: []float64{1, 2}, Y: [][]float64{{1}, {2}}}}}
	if err := show("name", f); err != nil {
		t.Fatal(err)
	}
	if _, at := s.find("svg ", "a title"); at < 0 {
		t.Errorf("not shown: %.1000s", strings.Join(s.log, "\n"))
	}
	for _, ext := range []string{"svg", "png", "pdf", "csv"} {
		if _, err := os.Stat("figures/name." + ext); err != nil {
			t.Error(err)
		}
	}
	if err := show("../name", f); err == nil || !strings.Contains(err.Error(), "plain file name") {
		t.Errorf("a name with folders: %v", err)
	}
}

func TestTable(t *testing.T) {
	s := inNotebook(t)
	if err := table("name value", []Row{{"<a>", 1.0 / 3}, {"b", 2}}); err != nil {
		t.Fatal(err)
	}
	want := `html <table style="font-size:85%">
<tr><th style="text-align:left;white-space:pre">name</th><th style="text-align:right;white-space:pre">value</th></tr>
<tr><td style="text-align:left;white-space:pre">&lt;a&gt;</td><td style="text-align:right;white-space:pre">0.3333</td></tr>
<tr><td style="text-align:left;white-space:pre">b</td><td style="text-align:right;white-space:pre">2</td></tr>
</table>`
	if s.log[0] != want {
		t.Errorf("%s\nwant\n%s", s.log[0], want)
	}
	if err := table("one", []Row{{1, 2}}); err == nil || !strings.Contains(err.Error(), "row 1 has 2 cells, the header 1") {
		t.Errorf("a row that is too long: %v", err)
	}
}

func TestNewest(t *testing.T) {
	t.Chdir(t.TempDir())
	for i, name := range []string{"a-2", "a-1", "b"} {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, time.Time{}, time.Unix(int64(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := newest("a-*"); got != "a-1" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	for pattern, want := range map[string]string{"c-*": "there is none", "[": "syntax error"} {
		if _, err := newest(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", pattern, err, want)
		}
	}
}

func TestLiveCurves(t *testing.T) {
	s := &screen{}
	l := &live{d: s}
	l.Begin("eta = 1, seed 1", 1, 3, 4)
	l.Step(1, 3, 1000)
	l.Step(2, 2, 1000)                  // diverges here
	l.Begin("eta = 1, seed 1", 1, 3, 4) // told again
	l.Begin("eta = 1, seed 2", 2, 3, 4)
	l.Step(3, 1, 1000) // was resumed
	l.Begin("eta = 2, seed 1", 3, 3, 4)
	l.Step(1, 5, 1000)
	var got strings.Builder
	for _, series := range l.figure().Series {
		fmt.Fprintln(&got, series.Name, series.X, series.Y)
	}
	if want := "eta = 1 [1 2 3] [[3 NaN] [2 NaN] [NaN 1]]\neta = 2 [1] [[5]]\n"; got.String() != want {
		t.Errorf("%swant\n%s", &got, want)
	}
	for range 2 { // two commands with one run of the same name
		l.Begin("train, seed 1", 1, 1, 4)
		l.Step(1, 4, 1000)
		if l.series[0].name != "train" || len(l.series) != 1 || len(l.series[0].runs) != 1 || len(l.series[0].runs[0]) != 1 {
			t.Errorf("the block goes on: %v", l.series[0])
		}
	}
}

// TestLongRunsAreThinned: what is drawn does not grow with the steps.
func TestLongRunsAreThinned(t *testing.T) {
	l := &live{d: &screen{}}
	l.Begin("a", 1, 1, 10*points)
	for i := range 10 * points {
		l.now.runs[0] = append(l.now.runs[0], float64(i))
	}
	if n := len(l.figure().Series[0].X); n > points || n < points/2 {
		t.Errorf("%d points are drawn, want about %d", n, points)
	}
}
