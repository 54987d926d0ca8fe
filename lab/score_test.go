package lab

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	gomodel "github.com/gomlx/gomlx/ml/model"
)

// trained is the folder of a tiny byte-level model.
func trained(t *testing.T, steps int, words string) string {
	t.Helper()
	e := parse(t, strings.NewReplacer("steps=6", fmt.Sprintf("steps=%d", steps), "batch=2", "batch=8").Replace(tiny)+"task=text len=16 lengths=1 corpus="+prose(t)+" "+words)
	dir := t.TempDir()
	if _, err := session().run(context.Background(), e, 3, dir, nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

// oracle is ln p of a continuation's bytes after a context, and whether each is
// the likeliest, from the bare logits of one row at its own length.
func oracle(t *testing.T, e *Experiment, tr *trainer, context, continuation string) (sum float64, greedy bool) {
	t.Helper()
	exec := gomodel.MustNewExec(session().be, tr.set.Store, func(_ *gomodel.Scope, x *Node) *Node {
		logits, _ := e.Model.Apply(tr.set.At(x.Graph()), e.form(), x, nil)
		return logits
	})
	var row []int32
	for _, b := range []byte(context + continuation) {
		row = append(row, int32(b))
	}
	n := len(row) - 1
	logits := tensors.MustCopyFlatData[float32](exec.MustCall1(tensors.FromFlatDataAndDimensions(row[:n], 1, n)))
	greedy = true
	for at := len(context) - 1; at < n; at++ {
		own, total := logits[at*257:(at+1)*257], 0.0
		for _, x := range own {
			total += math.Exp(float64(x))
		}
		sum += float64(own[row[at+1]]) - math.Log(total)
		greedy = greedy && own[row[at+1]] == slices.Max(own)
	}
	return sum, greedy
}

type choice struct{ context, continuation string }

// TestScore: the accuracies printed for files of questions are those that the
// bare logits give for contexts and continuations written out by hand.
func TestScore(t *testing.T) {
	onPureGo(t)
	run := trained(t, 30, "")
	e, tr, err := session().loadRun(run)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		task, lines string
		choices     [][]choice
		answers     []int
		norm        bool
	}{
		{"hellaswag", `{"activity_label":"Cats","ctx_a":"The cat sat.","ctx_b":"it THEN","endings":["sat on the mat.","xqz","the cat","zzzzzzzzzzzz"],"label":0}
{"activity_label":"Mats","ctx_a":"A mat [x]lay.","ctx_b":"","endings":["q","on the mat sat the cat.","##","VVV"],"label":"1"}`,
			[][]choice{
				{{"Cats: The cat sat. It then", " sat on the mat."}, {"Cats: The cat sat. It then", " xqz"}, {"Cats: The cat sat. It then", " the cat"}, {"Cats: The cat sat. It then", " zzzzzzzzzzzz"}},
				{{"Mats: A mat lay.", "  q"}, {"Mats: A mat lay.", "  on the mat sat the cat."}, {"Mats: A mat lay.", "  ##"}, {"Mats: A mat lay.", "  VVV"}},
			}, []int{0, 1}, true},
		{"piqa", `{"goal":"sit","sol1":"the cat sat on the mat.","sol2":"QQ","label":0}
{"goal":"lie","sol1":"the mat","sol2":"JJJJJJJJ","label":1}
{"goal":"x","sol1":"at","sol2":"##","label":0}`,
			[][]choice{
				{{"Question: sit\nAnswer:", " the cat sat on the mat."}, {"Question: sit\nAnswer:", " QQ"}},
				{{"Question: lie\nAnswer:", " the mat"}, {"Question: lie\nAnswer:", " JJJJJJJJ"}},
				{{"Question: x\nAnswer:", " at"}, {"Question: x\nAnswer:", " ##"}},
			}, []int{0, 1, 0}, true},
		{"winogrande", `{"sentence":"the cat sat on the mat, as the _ sat.","option1":"cat","option2":"ZQ","answer":"1"}
{"sentence":"the _ on the mat.","option1":"mat","option2":"cat sat","answer":"2"}`,
			[][]choice{
				{{"the cat sat on the mat, as the cat", " sat."}, {"the cat sat on the mat, as the ZQ", " sat."}},
				{{"the mat", " on the mat."}, {"the cat sat", " on the mat."}},
			}, []int{0, 1}, false},
		{"arc_easy", `{"question":"What sat?","choices":{"text":["the cat","QQQQ","mat"],"label":["A","B","C"]},"answerKey":"A"}
{"question":"On what?","choices":{"text":["%%","the mat"],"label":["1","2"]},"answerKey":"1"}`,
			[][]choice{
				{{"Question: What sat?\nAnswer:", " the cat"}, {"Question: What sat?\nAnswer:", " QQQQ"}, {"Question: What sat?\nAnswer:", " mat"}},
				{{"Question: On what?\nAnswer:", " %%"}, {"Question: On what?\nAnswer:", " the mat"}},
			}, []int{0, 0}, true},
	} {
		right, rightNorm, n := 0.0, 0.0, float64(len(c.answers))
		for i, choices := range c.choices {
			best, bestNorm := 0, 0
			var sum, mean []float64
			for k, x := range choices {
				s, _ := oracle(t, e, tr, x.context, x.continuation)
				sum, mean = append(sum, s), append(mean, s/float64(len(x.continuation)-1))
				if s > sum[best] {
					best = k
				}
				if mean[k] > mean[bestNorm] {
					bestNorm = k
				}
			}
			if best == c.answers[i] {
				right++
			}
			if bestNorm == c.answers[i] {
				rightNorm++
			}
		}
		share := func(right float64) string {
			p := right / n
			return fmt.Sprintf("%.1f ±%.1f", 100*p, 100*math.Sqrt(p*(1-p)/(n-1)))
		}
		text := scored(t, c.task, c.lines, run)
		row := strings.Fields(strings.Split(text, "\n")[1])
		want := []string{c.task, fmt.Sprint(len(c.answers))}
		want = append(want, strings.Fields(share(right))...)
		if c.norm {
			want = append(want, strings.Fields(share(rightNorm))...)
		}
		if len(row) != len(want)+1 || !slices.Equal(row[:len(want)], want) {
			t.Errorf("%s: want %v and chance:\n%s", c.task, want, text)
		}
	}
}

// scored runs the command on a file of lines.
func scored(t *testing.T, task, lines, run string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), task+".jsonl")
	if err := os.WriteFile(path, []byte(lines+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := say(t, "score", task, path, "--run", run)
	if err != nil {
		t.Fatalf("%s: %v", task, err)
	}
	return text
}

// TestLambada: perplexity of last words, and how often they are what the model
// would say; one is, since the text consists of it.
func TestLambada(t *testing.T) {
	run := trained(t, 300, "lr=0.03")
	e, tr, err := session().loadRun(run)
	if err != nil {
		t.Fatal(err)
	}
	nats, right := 0.0, 0
	for _, x := range []choice{{"the cat sat on the mat. the cat sat on", " the"}, {"the cat sat on the", " QQ"}} {
		s, greedy := oracle(t, e, tr, x.context, x.continuation)
		nats -= s
		if greedy {
			right++
		}
	}
	if right != 1 {
		t.Errorf("%d last words are greedy: the model has not learnt its text", right)
	}
	text := scored(t, "lambada", `{"text":"the cat sat on the mat. the cat sat on the"}`+"\n"+`{"text":"the cat sat on the QQ"}`, run)
	row := strings.Fields(strings.Split(text, "\n")[1])
	if want := []string{"lambada", "2", fmt.Sprintf("%.1f", 50.0*float64(right)), "±50.0", fmt.Sprintf("%.4g", math.Exp(nats/2))}; !slices.Equal(row, want) {
		t.Errorf("want %v:\n%s", want, text)
	}
}

// TestLoadRunOfSeveralMixers: options with other defaults in each mixer, and
// one that was asked for in both.
func TestLoadRunOfSeveralMixers(t *testing.T) {
	run := trained(t, 30, "layers=2 mixer=kaczmarz,softmax conv=2")
	e, tr, err := session().loadRun(run)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Model.Layers) != 2 || e.Model.Layers[1].Mixer != "softmax" {
		t.Errorf("layers %+v", e.Model.Layers)
	}
	again := filepath.Join(t.TempDir(), "again.safetensors")
	if err := saveWeights(again, tr.set, 30); err != nil {
		t.Fatal(err)
	}
	a, err := os.ReadFile(again)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(run, "weights.safetensors"))
	if err != nil || !bytes.Equal(a, b) {
		t.Errorf("weights loaded and saved again differ (%v)", err)
	}
}

func TestLoadRunErrors(t *testing.T) {
	run := trained(t, 30, "")
	damage := func(file, old, new string) string {
		t.Helper()
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(run)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, file)
		b, err := os.ReadFile(path)
		if err != nil || old != "" && !bytes.Contains(b, []byte(old)) {
			t.Fatalf("%s lacks %s (%v)", file, old, err)
		}
		if old == "" {
			err = os.Remove(path)
		} else {
			err = os.WriteFile(path, bytes.Replace(b, []byte(old), []byte(new), 1), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	for _, c := range []struct{ dir, want string }{
		{damage("run.json", "", ""), "run.json: no such file or directory"},
		{damage("weights.safetensors", "", ""), "weights.safetensors: not there: the run has status finished after step 30"},
		{damage("weights.safetensors", `"head"`, `"hand"`), "does not fit the model of run.json: hand is not in the model; head [8 257] is missing"},
		{damage("weights.safetensors", `[257,8]`, `[8,257]`), "embedding has shape [8 257] and 2056 values: want [257 8]"},
		{damage("run.json", `"mixer.eta"`, `"mixer.eat"`), `unknown key "mixer.eat"`},
	} {
		_, _, err := session().loadRun(c.dir)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.dir) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
	// Weights of another width name each array that does not match.
	e := parse(t, strings.Replace(tiny, "width=8", "width=12", 1)+"task=text len=16 lengths=1 corpus="+prose(t))
	wide := t.TempDir()
	if _, err := session().run(context.Background(), e, 1, wide, nil); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(wide, "weights.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(run, "weights.safetensors"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := session().loadRun(run); err == nil || !strings.Contains(err.Error(), "embedding has shape [257 12] and 3084 values: want [257 8]") || !strings.Contains(err.Error(), "more") {
		t.Errorf("error %v", err)
	}
}

func TestScoreErrors(t *testing.T) {
	onPureGo(t)
	run := trained(t, 30, "")
	dir := t.TempDir()
	path := filepath.Join(dir, "p.jsonl")
	if err := os.WriteFile(path, []byte(`{"goal":"g","sol1":"a","sol2":"b","label":1}`+"\nno\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	if _, err := session().run(context.Background(), parse(t, tiny), 1, other, nil); err != nil {
		t.Fatal(err)
	}
	good := filepath.Join(dir, "good.jsonl")
	if err := os.WriteFile(good, []byte(`{"goal":"g","sol1":"a","sol2":"b","label":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for words, want := range map[string]string{
		"piqa " + good:                                  "score takes a task, a file of JSON lines and --run",
		"--run " + run:                                  "score takes a task, a file of JSON lines and --run",
		"pika " + good + " --run " + run:                `unknown task "pika": known are hellaswag, piqa, winogrande, arc_easy, lambada (did you mean piqa?)`,
		"piqa /none.jsonl --run " + run:                 "/none.jsonl: no such file or directory",
		"piqa " + path + " --run " + run:                path + ":2: no JSON object",
		"piqa " + good + " --run /none":                 "/none/run.json: no such file or directory",
		"piqa " + good + " --run " + other:              other + ": it was trained on mqar: questions need a model of text",
		"piqa " + good + " --limit x --run " + run:      "--limit x: must be a whole number of questions",
		"piqa " + good + " --max-tokens x --run " + run: "--max-tokens x: must be a whole number",
	} {
		if _, err := say(t, "score", strings.Fields(words)...); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("score %s: error %v, want %s", words, err, want)
		}
	}
}
