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
)

// TestRunCommands goes through what can be done with runs once they are there.
func TestRunCommands(t *testing.T) {
	onPureGo(t)
	out := t.TempDir()
	words := strings.Fields(resumable + "out=" + out)
	ok := func(command string, words ...string) string {
		t.Helper()
		text, err := say(t, command, words...)
		if err != nil {
			t.Fatalf("%s %v: %v", command, words, err)
		}
		return text
	}
	fails := func(want, command string, words ...string) {
		t.Helper()
		if _, err := say(t, command, words...); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %v: error %v, want %s", command, words, err, want)
		}
	}
	has := func(text string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("lacks %q:\n%s", want, text)
			}
		}
	}
	ok("train", words...)
	ok("train", append(words, "eta=0.5")...)
	ok("ablate", append([]string{"eta", "0.5", "1"}, words...)...)
	runs, err := listRuns(out)
	if err != nil || len(runs) != 4 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	a, b := runs[0].id, runs[1].id
	place := "out=" + out

	has(ok("runs", out), "run ", "finished  10/10  kaczmarz  mqar", filepath.Join("0.5", "seed-1"))
	has(ok("show", a, place), "status       finished", "config hash", "data hash", "mixer.eta", "learned", "training loss", " ┤")
	has(ok("compare", a, b, place), "mixer.eta  learned  0.5", "metrics: from step 1 on:", "weights: ")
	has(ok("compare", a, a, place), "the configurations are the same", "the same to the byte")
	has(ok("repro", a, place), "is reproduced: 10 steps")
	has(ok("config", "diff", a, b, place), "mixer.eta  learned  0.5\n")
	has(ok("config", "diff", a, a, place), "no difference")
	has(ok("table", a, b, place, "--format=md"), "| run | status | mixer.eta | seed | 1x | 2x | parameters |", "| learned | 1 |")
	has(ok("table", a, b, place, "--format", "latex"), `\begin{tabular}{ll`, `\toprule`, `FLOPs/token`)
	rows, err := csv.NewReader(strings.NewReader(ok("table", out, "--format", "csv"))).ReadAll()
	if err != nil || len(rows) != 5 {
		t.Errorf("csv: %d rows, %v", len(rows), err)
	}
	has(ok("resume", a, place), "loss ")

	ablation := filepath.Base(filepath.Dir(filepath.Dir(runs[2].dir)))
	svg := filepath.Join(out, ablation, "accuracy.svg")
	before, err := os.ReadFile(svg)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(svg); err != nil {
		t.Fatal(err)
	}
	has(ok("figure", ablation, place), "eta", "0.5", "accuracy.svg")
	if after, err := os.ReadFile(svg); err != nil || string(after) != string(before) {
		t.Errorf("the figure drawn again differs (%v)", err)
	}

	// An ablation over mixers is read back, each with its own options; drawn in
	// another style the figures go where they are asked to, and say what diverged.
	mixers := filepath.Join(out, "mixers")
	ok("ablate", strings.Fields("mixer kaczmarz gdn eval_rows=8 seeds=1 lengths=1,2 steps=5 lr=1e30 warmup=0 clip=0 out="+mixers)...)
	folders, err := filepath.Glob(filepath.Join(mixers, "ablate-mixer-*"))
	if err != nil || len(folders) != 1 {
		t.Fatal(folders, err)
	}
	has(ok("figure", folders[0], "--style", "talk", "--dark", "--out", filepath.Join(out, "slides")), filepath.Join(out, "slides", "accuracy.svg"), "training.svg")
	if b, err := os.ReadFile(filepath.Join(out, "slides", "accuracy.svg")); err != nil || !strings.Contains(string(b), "Every run diverged") {
		t.Errorf("%v: the figure of diverged runs does not say so", err)
	}
	lost, err := filepath.Glob(filepath.Join(folders[0], "*", "seed-*"))
	if err != nil || len(lost) != 2 {
		t.Fatal(lost, err)
	}
	for _, dir := range lost {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	fails("no data", "figure", folders[0], place)
	if err := os.RemoveAll(mixers); err != nil {
		t.Fatal(err)
	}

	fails("no run train-xyz", "show", "train-xyz", place)
	fails("may be", "show", "train-", place)
	fails("expected one run", "show")
	fails("--format tsv: known are", "table", a, place, "--format", "tsv")
	fails("no ablation "+a, "figure", a, place)
	fails("say --yes", "rm", a, place)
	fails("expected config show", "config", "shew")
	fails("steps = 0", "config", "show", "steps=0")

	// A run whose bytes were changed is not reproduced.
	path := filepath.Join(runs[1].dir, "metrics.jsonl")
	metrics, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(metrics), `"step":4,"loss":`, `"step":4,"loss":1`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if text, err := say(t, "repro", b, place); err != errFailed || !strings.Contains(text, "metrics: from step 4 on") || strings.Contains(text, "weights") {
		t.Errorf("repro of a changed run: %v\n%s", err, text)
	}

	unlock, err := lockFolder(runs[1].dir)
	if err != nil {
		t.Fatal(err)
	}
	fails("in use", "rm", b, place, "--yes")
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	ok("rm", b, ablation, place, "--yes")
	if left, err := listRuns(out); err != nil || len(left) != 1 || left[0].id != a {
		t.Errorf("after rm: %v, %v", left, err)
	}
}

// TestConfigShowIsRead: what config show prints trains the same run.
func TestConfigShowIsRead(t *testing.T) {
	text, err := say(t, "config", append([]string{"show"}, strings.Fields(resumable)...)...)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.toml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if again, err := say(t, "config", "show", path); err != nil || again != text {
		t.Errorf("%v: shown again:\n%s\nwant\n%s", err, again, text)
	}
	out := t.TempDir()
	if _, err := say(t, "ablate", "eta", "0.5", "1", path, "steps=2", "out="+out); err != nil {
		t.Fatal(err)
	}
	runs, err := listRuns(out)
	if err != nil || len(runs) != 2 || runs[0].r.key("width") != "8" || runs[0].r.Step != 2 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
	if _, err := say(t, "ablate", "eta", path, "--agian"); err == nil || !strings.Contains(err.Error(), "unknown flag --agian") {
		t.Errorf("a mistyped flag: error %v", err)
	}
}

// TestOldRecordIsRead: a run.json without the fields that came later.
func TestOldRecordIsRead(t *testing.T) {
	dir := t.TempDir()
	old := `{"config":[{"Key":"task","Value":"mqar"},{"Key":"mixer","Value":"gdn"},{"Key":"steps","Value":"9"}],"seed":3,"status":"running",
"step":0,"started":"2026-01-02T03:04:05Z","backend":"go:parallelism=-1 (asked for)","versions":{"go":"go1.26"},"final_loss":"NaN"}`
	if err := os.WriteFile(filepath.Join(dir, "run.json"), []byte(old), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "metrics.jsonl"), []byte(`{"step":1,"loss":2,"grad_norm":1,"lr":1,"seconds":1}`+"\n{\"st"), 0o644); err != nil {
		t.Fatal(err)
	}
	runs, err := listRuns(dir)
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	text := runTable(runs, time.Date(2026, 1, 3, 3, 4, 5, 0, time.UTC)).text()
	if !strings.Contains(text, "killed   1/9  gdn    mqar     3            24h") {
		t.Errorf("table:\n%s", text)
	}
	if text, err := runs[0].describe(); err != nil || !strings.Contains(text, "NaN") {
		t.Errorf("%v:\n%s", err, text)
	}
	e, err := runs[0].r.experiment()
	if err != nil || e.Int("steps") != 9 || session().sameRun(runs[0].r, e, 3) {
		t.Errorf("%v: an old record counts as this program's", err)
	}
}

func TestTermPlot(t *testing.T) {
	var falling []float64
	for i := range 100 {
		falling = append(falling, 1/float64(1+i))
	}
	falling[50] = math.NaN()
	lines := strings.Split(strings.TrimRight(termPlot(falling, 20, 4), "\n"), "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[0], "   1 ┤") || !strings.HasPrefix(lines[3], "0.01 ┤") || !strings.HasSuffix(lines[4], "100") {
		t.Errorf("plot:\n%s", strings.Join(lines, "\n"))
	}
	if strings.TrimSpace(strings.Split(lines[0], "┤")[1]) == "" {
		t.Error("nothing in the first row")
	}
	for _, few := range [][]float64{nil, {math.NaN()}} {
		if p := termPlot(few, 20, 4); p != "" {
			t.Errorf("plot of %v: %q", few, p)
		}
	}
	if p := termPlot([]float64{2}, 20, 4); !strings.Contains(p, "2 ┤") {
		t.Errorf("plot of one value:\n%s", p)
	}
}

// writeRuns makes n small folders of finished runs.
func writeRuns(tb testing.TB, root string, n int) {
	e, err := Parse(nil)
	if err != nil {
		tb.Fatal(err)
	}
	r := &Record{Config: e.Complete(), ConfigHash: configHash(e.complete), Status: Finished, Step: 400, Versions: versions(), Command: os.Args, Started: time.Now()}
	for _, f := range []int{1, 2, 4, 8} {
		r.Evals = append(r.Evals, Evaluation{Mode: "fixedK", Factor: f, Micro: 0.5})
	}
	for i := range n {
		dir := filepath.Join(root, fmt.Sprintf("ablate-%d", i/12), fmt.Sprintf("seed-%d", i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			tb.Fatal(err)
		}
		r.Seed = uint64(i)
		if i < 12 || i%1000 == 0 {
			if err := writeJSON(filepath.Join(dir, "run.json"), r); err != nil {
				tb.Fatal(err)
			}
			continue
		}
		b, err := os.ReadFile(filepath.Join(root, "ablate-0", "seed-0", "run.json"))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "run.json"), b, 0o644)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
}

func TestRunsAreFoundInFoldersOfAnyDepth(t *testing.T) {
	root := t.TempDir()
	writeRuns(t, root, 30)
	if err := os.WriteFile(filepath.Join(root, "ablate-1", "seed-13", "run.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	runs, err := listRuns(root)
	if err != nil || len(runs) != 30 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	broken := slices.IndexFunc(runs, func(l listedRun) bool { return l.id == filepath.Join("ablate-1", "seed-13") })
	if broken < 0 || runs[broken].status() != "unreadable" || runs[broken].err == nil {
		t.Errorf("the torn run.json is not shown as unreadable")
	}
	if _, err := listRuns(filepath.Join(root, "absent")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("no folder: error %v", err)
	}
}

// BenchmarkRuns lists 10,000 runs.
func BenchmarkRuns(b *testing.B) {
	root := b.TempDir()
	writeRuns(b, root, 10_000)
	for b.Loop() {
		runs, err := listRuns(root)
		if err != nil || len(runs) != 10_000 {
			b.Fatal(len(runs), err)
		}
		runTable(runs, time.Now()).text()
	}
}
