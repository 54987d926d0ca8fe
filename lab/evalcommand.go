package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kalmarz/kalmarz/datasets"
)

// evaluateAgain evaluates trained models at other lengths, on more rows, at another
// difficulty or on another task of the same vocabulary. Runs stay as they are.
func evaluateAgain(ctx context.Context, s *Session, args []string) error {
	out, args := s.folder(args)
	splitName := datasets.Test.String()
	words, err := readFlags(args, map[string]*string{"split": &splitName}, nil)
	if err != nil {
		return err
	}
	part := datasets.Test
	if splitName == datasets.Validation.String() {
		part = datasets.Validation
	} else if splitName != datasets.Test.String() {
		return fmt.Errorf("--split %s: must be validation or test", splitName)
	}
	var runs []listedRun
	var changes []string
	for _, w := range words {
		if strings.Contains(w, "=") {
			changes = append(changes, w)
			continue
		}
		found, err := runsOf(out, w)
		if err != nil {
			return err
		}
		runs = append(runs, found...)
	}
	if len(runs) == 0 {
		return errors.New("expected runs: eval RUN... [key=value...]")
	}
	var groups [][]*Record // of one configuration each
	for i := range runs {
		if ctx.Err() != nil {
			return fmt.Errorf("stopped after %d of %d runs", i, len(runs))
		}
		l := &runs[i]
		if l.r, err = s.evaluateRun(*l, changes, part, len(runs) > 1); err != nil {
			return err
		}
		same := func(g []*Record) bool { return slices.Equal(g[0].Config, l.r.Config) }
		if at := slices.IndexFunc(groups, same); at >= 0 {
			groups[at] = append(groups[at], l.r)
		} else {
			groups = append(groups, []*Record{l.r})
		}
	}
	var text strings.Builder
	text.WriteString(resultTable(runs).text())
	differing := differingKeys(runs)
	for _, g := range groups {
		name := g[0].key("mixer") + " on " + g[0].key("task")
		for _, key := range differing {
			name += fmt.Sprintf(", %s = %s", key, g[0].key(key))
		}
		for _, t := range evaluationTables(g) {
			fmt.Fprintf(&text, "\n%s: %s", name, strings.Replace(t.text(), "test rows", part.String()+" rows", 1))
		}
		for _, n := range notEvaluated(g) {
			fmt.Fprintf(&text, "%s: %s\n", name, n)
		}
	}
	_, err = io.WriteString(s.Out, text.String())
	return err
}

// evaluateRun returns a run's record with another configuration and what it reaches
// there. One of several that left no weights has no evaluations.
func (s *Session) evaluateRun(l listedRun, changes []string, part datasets.Split, several bool) (*Record, error) {
	e, err := l.r.changed(changes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.dir, err)
	}
	r := *l.r
	r.Config, r.Evals = e.complete, nil
	if _, err := os.Stat(filepath.Join(l.dir, "weights.safetensors")); several && errors.Is(err, os.ErrNotExist) {
		s.note(fmt.Sprintf("%s is %s and has no weights", l.dir, l.status()))
		return &r, nil
	}
	t, err := s.loadWeights(l.dir, l.r, e)
	if err != nil {
		return nil, err
	}
	if r.Evals, err = t.evaluate(e, part, r.Seed); err != nil {
		return nil, fmt.Errorf("%s: %w", l.dir, err)
	}
	return &r, nil
}

// evalKeys are an experiment's own keys that may differ between training and an
// evaluation, beside the task's.
var evalKeys = []string{"task", "lengths", "eval_rows", "form", "chunk"}

// changed is a run's experiment with other words about what it is evaluated on.
// With another task the options of the old one are left out.
func (r *Record) changed(words []string) (*Experiment, error) {
	given := map[string]string{}
	for _, kv := range r.Config {
		given[kv.Key] = kv.Value
	}
	own := maps.Clone(given)
	before, err := rebuild(r.Config, datasets.Unread)
	if err != nil {
		return nil, fmt.Errorf("run.json: %w", err)
	}
	raw := map[string]string{"mixer": given["mixer"], "task": given["task"]}
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		if key == "task" && value != given["task"] {
			maps.DeleteFunc(own, func(k, _ string) bool { return strings.HasPrefix(k, "task.") })
		}
		if key == "task" {
			raw["task"] = value
		}
	}
	task, kinds, err := kindsOf(raw)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		canonical, err := resolve(key, task, kinds)
		switch {
		case err != nil:
			return nil, err
		case seen[canonical]:
			return nil, fmt.Errorf("%s is given twice", canonical)
		case !strings.HasPrefix(canonical, "task.") && !slices.Contains(evalKeys, canonical):
			return nil, fmt.Errorf("%s: a trained model keeps what it is: an evaluation takes the task's keys, %s", w, strings.Join(evalKeys, ", "))
		case canonical == "task.preset":
			maps.DeleteFunc(own, func(k, _ string) bool { return strings.HasPrefix(k, "task.") && !seen[k] })
		}
		seen[canonical], own[canonical] = true, value
	}
	e, err := build(own)
	if err != nil {
		return nil, err
	}
	if a, b := e.Task.Info(), before.Task.Info(); a.Vocab != b.Vocab || a.Classes != b.Classes || a.FromLast != b.FromLast {
		return nil, fmt.Errorf("task %s has %d input ids and %d classes, and the model %d and %d: it can only be evaluated on a task with as many", a.Name, a.Vocab, a.Classes, b.Vocab, b.Classes)
	}
	return e, nil
}
