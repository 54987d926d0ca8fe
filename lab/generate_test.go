package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kalmarz/kalmarz/datasets"
	"github.com/kalmarz/kalmarz/layers/check"
)

// small is what every mixer takes.
const small = "width=8 batch=8 warmup=2 eval_rows=8 seeds=1 lr=0.03 lengths=1 "

// runOf trains and returns the folder.
func runOf(t *testing.T, words string) string {
	t.Helper()
	dir := t.TempDir()
	if _, err := session().run(t.Context(), parse(t, small+words), 3, dir, nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

// likeliest is the class after a whole prefix, by one pass over it.
func likeliest(t *testing.T, tr *trainer, prefix []int32) int32 {
	t.Helper()
	p, _, err := tr.answer(datasets.Batch{Rows: 1, T: len(prefix), Inputs: prefix, Targets: make([]int32, len(prefix))})
	if err != nil {
		t.Fatal(err)
	}
	return p[len(p)-1]
}

// TestGreedyTokensAreThoseOfTheFullPass: what a trained model continues with token
// by token from the carried state is what a pass over each whole prefix gives.
func TestGreedyTokensAreThoseOfTheFullPass(t *testing.T) {
	if check.Compiled() {
		t.Skip("a compiler would take a minute over the prefixes; layers/model has the logits of all mixers")
	}
	corpus := prose(t)
	for _, mixer := range []string{
		"mixer=kaczmarz", "mixer=softmax", "mixer=softmax window=5", "mixer=kalman d_state=3", "mixer=mamba2",
		"mixer=gdn,softmax layers=2 mlp=8",
	} {
		run := runOf(t, "steps=40 task=text len=16 corpus="+corpus+" "+mixer)
		const prompt = "the cat sat"
		said, err := say(t, "generate", run, "--prompt", prompt, "--n", "12")
		if err != nil {
			t.Fatalf("%s: %v", mixer, err)
		}
		_, tr, err := session().loadRun(run)
		if err != nil {
			t.Fatal(err)
		}
		row := []int32{}
		for _, c := range []byte(prompt) {
			row = append(row, int32(c))
		}
		want := prompt
		for range 12 {
			next := likeliest(t, tr, row)
			row, want = append(row, next), want+string(rune(next))
		}
		if said != want+"\n" {
			t.Errorf("%s: %q, and a full pass over each prefix gives %q", mixer, said, want)
		}
	}
}

// TestGenerateTokens: of a synthetic task the words and ids, its answers read off
// the carried state are those of the full pass, and what cannot be asked is said.
func TestGenerateTokens(t *testing.T) {
	onPureGo(t)
	run := runOf(t, "steps=5 task=palindrome")
	said, err := say(t, "generate", run, "--tokens", "3,1,4", "--n", "2")
	if err != nil {
		t.Fatal(err)
	}
	e, tr, err := session().loadRun(run)
	if err != nil {
		t.Fatal(err)
	}
	a := likeliest(t, tr, []int32{3, 1, 4})
	b := likeliest(t, tr, []int32{3, 1, 4, a})
	for _, want := range []string{"3,1,4", fmt.Sprintf("%d,%d", a, b), e.Task.Token(a) + " " + e.Task.Token(b)} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in:\n%s", want, said)
		}
	}
	row, err := e.Task.Batch(datasets.Test, 3, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	predictions, _, err := tr.answer(row)
	if err != nil {
		t.Fatal(err)
	}
	said, err = say(t, "generate", run)
	if err != nil {
		t.Fatal(err)
	}
	lines, right := strings.Split(said, "\n"), 0
	for i, m := range row.Mask {
		if m == 0 {
			continue
		}
		want := []string{fmt.Sprint(i), e.Task.Token(row.Inputs[i]), e.Task.Class(predictions[i]), e.Task.Class(row.Targets[i])}
		if got := strings.Fields(lines[i+1]); !slices.Equal(got, want) {
			t.Errorf("line %v, want %v", got, want)
		}
		if predictions[i] == row.Targets[i] {
			right++
		}
	}
	if want := fmt.Sprintf("%d of 8 answers of the first test row are right", right); !strings.Contains(said, want) {
		t.Errorf("no %q in:\n%s", want, said)
	}
	aligned, last := runOf(t, "steps=1 task=mqar"), runOf(t, "steps=1 task=compression")
	for words, want := range map[string]string{
		run + " --tokens 3,99":    "--tokens 3,99: token 1 is 99: must be in [0, 17)",
		run + " --prompt a":       "--prompt: palindrome has no text: give --tokens",
		run + " --n 0":            "--n 0: must be a whole number of tokens from 1",
		run + " --top-k 2":        "--top-k and --top-p choose among drawn tokens",
		run + " --temperature -1": "--temperature -1: must be a number >= 0",
		run + " --top-p 0":        "--top-p 0: must be in (0, 1]",
		run + " --top-k 1.5":      "--top-k 1.5: must be a whole number",
		run + " --seed x":         "--seed x: must be a whole number",
		aligned + " --n 3":        "--n 3: task mqar is answered at its tokens",
		last:                      "model: it answers every position from the last one",
		"":                        "expected one run",
		run + " " + run:           "expected one run",
		"/nowhere/run":            "no run /nowhere/run",
	} {
		if _, err := say(t, "generate", strings.Fields(words)...); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", words, err, want)
		}
	}
}

// TestSampler: how often each token is drawn, and which never are.
func TestSampler(t *testing.T) {
	logits := make([]float32, 5)
	for i, p := range []float64{0.1, 0.4, 0.05, 0.3, 0.15} {
		logits[i] = float32(math.Log(p)) + 7
	}
	for _, c := range []struct {
		temperature float64
		topK        int
		topP        float64
		want        []float64
	}{
		{0, 0, 1, []float64{0, 1, 0, 0, 0}},
		{1, 0, 1, []float64{0.1, 0.4, 0.05, 0.3, 0.15}},
		{1, 2, 1, []float64{0, 4. / 7, 0, 3. / 7, 0}},
		{1, 0, 0.75, []float64{0, 0.4 / 0.85, 0, 0.3 / 0.85, 0.15 / 0.85}}, // 0.4 + 0.3 do not reach 0.75
		{1, 2, 0.5, []float64{0, 1, 0, 0, 0}},                              // of the two, 4/7 reaches half
		{0.5, 0, 1, []float64{0.01 / 0.285, 0.16 / 0.285, 0.0025 / 0.285, 0.09 / 0.285, 0.0225 / 0.285}},
		{1, 9, 1e-9, []float64{0, 1, 0, 0, 0}},
	} {
		const n = 20000
		s, again := newSampler(c.temperature, c.topK, c.topP, 5), newSampler(c.temperature, c.topK, c.topP, 5)
		drawn := make([]float64, 5)
		for range n {
			id, err := s.pick(logits)
			if err != nil {
				t.Fatal(err)
			}
			if other, _ := again.pick(logits); other != id {
				t.Fatalf("%+v: the same seed gives %d and %d", c, id, other)
			}
			drawn[id]++
		}
		for i, p := range c.want {
			if d := math.Abs(drawn[i]/n - p); d > 4*math.Sqrt(p*(1-p)/n) {
				t.Errorf("%+v: token %d is drawn with frequency %g, want %g", c, i, drawn[i]/n, p)
			}
		}
	}
	greedy := newSampler(0, 0, 1, 1)
	if id, err := greedy.pick([]float32{1, 3, 3}); id != 1 || err != nil {
		t.Errorf("of equals %d (%v), want the first", id, err)
	}
	logits[3] = float32(math.NaN())
	if _, err := greedy.pick(logits); err == nil || err.Error() != "the logit of token 3 is NaN" {
		t.Errorf("NaN: %v", err)
	}
}

func TestTextWriter(t *testing.T) {
	for _, c := range []struct{ pieces, want string }{
		{"ab|c", "abc\n"}, {"a\n", "a\n"}, {"\xe2|\x82|\xac1", "€1\n"}, {"\xe2|\x82", "\\xe2\\x82\n"},
		{"\x1b[31m|\r\x07\t.", "\\x1b[31m\\r\\a\t.\n"}, {"\xff|é\u00a0\u202e", "\\xffé\u00a0\\u202e\n"}, {"", "\n"},
	} {
		var out strings.Builder
		w := &textWriter{w: &out}
		for _, p := range strings.Split(c.pieces, "|") {
			if err := w.write(p); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.end(); err != nil || out.String() != c.want {
			t.Errorf("%q: %q (%v), want %q", c.pieces, out.String(), err, c.want)
		}
	}
}
