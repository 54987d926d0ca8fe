package lab

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kalmarz/kalmarz/datasets"
	"github.com/kalmarz/kalmarz/viz"
)

// probe feeds a sequence to a fresh or a trained model and writes what its
// layers do at each token: arrays, a table and a heat map.
func probe(_ context.Context, s *Session, args []string) error {
	out, words := s.place(s.withDefaults(args))
	run, ids := "", ""
	words, err := readFlags(words, map[string]*string{"run": &run, "tokens": &ids}, nil)
	if err != nil {
		return err
	}
	if err := writable(out); err != nil {
		return err
	}
	e, t, err := s.probed(run, words)
	if err != nil {
		return err
	}
	tokens, err := sequence(e, ids)
	if err != nil {
		return err
	}
	be, err := s.open()
	if err != nil {
		return err
	}
	traces, err := e.Model.Probe(be, t.set, tokens)
	if err != nil {
		return oneLine(err)
	}
	dir := filepath.Join(out, "probe-"+e.hash())
	if _, err := traceFigure(e, traces, tokens).Save(dir, "probe", viz.Notebook()); err != nil {
		return err
	}
	arrays, err := traceArrays(traces, tokens)
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, "probe.npz"), arrays); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, "traces.csv"), traceTable(traces, tokens)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%s\n%d tokens; arrays probe.npz and every value in traces.csv in %s\nfigure %s (also .png, .pdf, .csv)\n",
		traceSummary(traces, len(tokens)), len(tokens), dir, filepath.Join(dir, "probe.svg"))
	return err
}

// probed returns the model of a run's folder, or a fresh one that words describe.
func (s *Session) probed(run string, words []string) (*Experiment, *trainer, error) {
	if run != "" {
		if len(words) > 0 {
			return nil, nil, fmt.Errorf("%s: the model of --run has its own configuration", words[0])
		}
		return s.loadRun(run)
	}
	e, err := Parse(words)
	if err != nil {
		return nil, nil, err
	}
	t, err := s.trainer(e)
	if err != nil {
		return nil, nil, err
	}
	return e, t, t.reset(e, uint64(e.Int("seed")))
}

// sequence reads ids with commas, or takes the first test row.
func sequence(e *Experiment, ids string) ([]int32, error) {
	if ids == "" {
		b, err := e.Task.Batch(datasets.Test, uint64(e.Int("seed")), 0, 1)
		if err != nil {
			return nil, fmt.Errorf("no test row to probe; give --tokens: %w", err)
		}
		tokens, _, _ := b.Row(0)
		return tokens, nil
	}
	var tokens []int32
	for _, word := range strings.Split(ids, ",") {
		id, err := strconv.ParseInt(word, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("--tokens %s: %q is no id: must be whole numbers with commas", ids, word)
		}
		if vocab := e.Model.Vocab; id < 0 || id >= int64(vocab) {
			return nil, fmt.Errorf("--tokens %s: token %d is %d: must be in [0, %d)", ids, len(tokens), id, vocab)
		}
		tokens = append(tokens, int32(id))
	}
	return tokens, nil
}
