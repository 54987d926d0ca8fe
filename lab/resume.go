package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kalmarz/kalmarz/datasets"
)

// prepare makes a run's folder and trainer ready for the step after those whose
// metrics it returns: the first of a new run, or of a continued one the step
// after its newest checkpoint.
func (s *Session) prepare(t *trainer, r *Record, dir string, earlier *Record) ([]Metric, error) {
	removeTemporary(dir)
	if err := removeIfThere(filepath.Join(dir, eventsName)); err != nil { // it is made when the run ends
		return nil, err
	}
	if earlier == nil {
		return nil, dropCheckpoints(dir)
	}
	if earlier.DataHash != "" && earlier.DataHash != r.DataHash {
		return nil, fmt.Errorf("%s: the training data are not those the run began with (hash %s, then %s)", dir, short8(r.DataHash), short8(earlier.DataHash))
	}
	if earlier.Program != r.Program || earlier.platform() != r.platform() {
		s.note(fmt.Sprintf("warning: %s was begun by another program or backend: what follows may differ from an uninterrupted run", dir))
	}
	kept, err := recoverMetrics(filepath.Join(dir, "metrics.jsonl"), s.note)
	if err != nil {
		return nil, err
	}
	c, err := newestCheckpoint(dir, r.ConfigHash, r.Seed, len(kept), s.note)
	if err != nil {
		return nil, err
	}
	r.Started, r.Resumed = earlier.Started, earlier.Resumed
	if c == nil {
		s.note(fmt.Sprintf("%s: no checkpoint: it begins again", dir))
		return nil, dropCheckpoints(dir)
	}
	kept = kept[:c.step]
	for _, m := range kept {
		r.Seconds += float64(m.Seconds)
	}
	r.Seconds = max(r.Seconds, earlier.Seconds)
	r.Step, r.Resumed = c.step, append(r.Resumed, c.step)
	return kept, errors.Join(t.restore(t.e, r.Seed, c), publishWeights(dir, c.dir))
}

// dropCheckpoints removes all checkpoints of a run and the weights of the last.
func dropCheckpoints(dir string) error {
	return errors.Join(os.RemoveAll(checkpointsDir(dir)), removeIfThere(filepath.Join(dir, "weights.safetensors")))
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// removeTemporary removes files that a killed process did not get to rename.
func removeTemporary(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, ".tmp-*")) // the pattern is well formed
	for _, path := range left {
		os.Remove(path)
	}
}

// ReadRecord reads the run.json of a run's folder.
func ReadRecord(dir string) (*Record, error) {
	var r Record
	if err := readJSON(filepath.Join(dir, "run.json"), &r); err != nil {
		return nil, err
	}
	return &r, nil
}

// experiment builds what a record says was run.
func (r *Record) experiment() (*Experiment, error) {
	return rebuild(r.Config, datasets.Open)
}

// complete tells whether there is nothing left to run.
func (r *Record) complete() bool { return r.Status == Finished || r.Status == Diverged }

// Resume continues the run in a folder to its end, from its newest usable
// checkpoint. A run that is complete stays as it is.
func (s *Session) Resume(ctx context.Context, dir string, tell progress) (*Record, error) {
	r, err := ReadRecord(dir)
	if err != nil {
		return nil, err
	}
	if r.complete() {
		return r, nil
	}
	e, err := r.experiment()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return s.runFrom(ctx, e, r.Seed, dir, r, tell)
}
