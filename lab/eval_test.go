package lab

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/kalmarz/kalmarz/datasets"
)

// TestEvaluateAgain: at a run's own settings the numbers are those it recorded, at
// others those of its weights there; its folder stays as it is.
func TestEvaluateAgain(t *testing.T) {
	onPureGo(t)
	s, root := session(), t.TempDir()
	e := parse(t, small+"steps=30 mixer=gdn task=parity min=8 max=8")
	var first *Record
	for seed := uint64(1); seed <= 2; seed++ {
		r, err := s.run(t.Context(), e, seed, filepath.Join(root, "ablation", fmt.Sprintf("seed-%d", seed)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if seed == 1 {
			first = r
		}
	}
	before := runFiles(t, root)
	again := func(words ...string) *Record {
		t.Helper()
		l, err := named(root, "ablation/seed-1")
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.evaluateRun(l, words, datasets.Test, false)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := again(); !reflect.DeepEqual(r.Evals, first.Evals) {
		t.Errorf("evaluated again: %+v, recorded %+v", r.Evals, first.Evals)
	}
	if r := again("lengths=1,3", "eval_rows=16", "dense=false"); len(r.Evals) < 2 || r.Evals[1].T != 3*first.Evals[0].T || r.Evals[0].Rows != 16 || r.key("task.dense") != "false" || r.key("task.min") != "8" {
		t.Errorf("other lengths and rows: %+v", r.Evals)
	}
	if r := again("task=even-pairs", "min=4", "max=12"); r.key("task.max") != "12" || r.Evals[0].T != 12 || reflect.DeepEqual(r.Evals, first.Evals) {
		t.Errorf("another task: max = %s, %+v", r.key("task.max"), r.Evals)
	}
	text, err := say(t, "eval", filepath.Join(root, "ablation"), "lengths=1,2", "task=even-pairs", "--split", "validation")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"seed-1", "seed-2", "gdn on even-pairs: validation rows", "mean of 2 seeds", "2x"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if after := runFiles(t, root); !reflect.DeepEqual(before, after) {
		t.Error("an evaluation changed the runs' folders")
	}
	run := filepath.Join(root, "ablation", "seed-1")
	for words, want := range map[string]string{
		run + " width=9":          run + ": width=9: a trained model keeps what it is: an evaluation takes the task's keys, task, lengths",
		run + " heads=2":          run + ": heads=2: a trained model keeps what it is",
		run + " task=stack":       run + ": task stack has 15 input ids and 15 classes, and the model 3 and 3",
		run + " min=3 task.min=4": run + ": task.min is given twice",
		run + " lengths=2,1":      run + ": experiment: lengths = 2,1: must be rising",
		run + " vocab=3":          run + `: unknown key "vocab"`,
		run + " --split train":    "--split train: must be validation or test",
		"lengths=1":               "expected runs",
		root + "/none":            "no run ",
	} {
		if _, err := say(t, "eval", strings.Fields(words)...); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", words, err, want)
		}
	}
}
