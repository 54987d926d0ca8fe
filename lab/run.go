package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kalmarz/kalmarz/datasets"
)

// progress is told of every step of a run.
type progress func(step int, m measured, tokensPerS float64)

// run trains one experiment with one seed and writes its folder: run.json at
// the start and at the end, metrics.jsonl step by step, and checkpoints with
// weights.safetensors. What an earlier run left there is replaced. A run that
// diverges is a result, not an error: its record says at which step, and the
// checkpoint is the last one before it.
func (s *Session) run(ctx context.Context, e *Experiment, seed uint64, dir string, tell progress) (*Record, error) {
	return s.runFrom(ctx, e, seed, dir, nil, tell)
}

// runFrom is run, continued if the record of its earlier part is given.
func (s *Session) runFrom(ctx context.Context, e *Experiment, seed uint64, dir string, earlier *Record, tell progress) (r *Record, err error) {
	if _, err := s.trainer(e); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	unlock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return s.runHeld(ctx, e, seed, dir, earlier, tell)
}

// runHeld is runFrom in a folder that is locked for it.
func (s *Session) runHeld(ctx context.Context, e *Experiment, seed uint64, dir string, earlier *Record, tell progress) (r *Record, err error) {
	t, err := s.trainer(e)
	if err != nil {
		return nil, err
	}
	if err := t.reset(e, seed); err != nil {
		return nil, err
	}
	begun, peak := time.Now(), beginPeak()
	if r, err = s.newRecord(e, seed); err != nil {
		return nil, err
	}
	kept, err := s.prepare(t, r, dir, earlier)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "run.json")
	if err := writeJSON(path, r); err != nil {
		return nil, err
	}
	metrics, err := newMetricsFile(filepath.Join(dir, "metrics.jsonl"), kept)
	if err != nil {
		return nil, err
	}
	err = s.whole(ctx, t, r, metrics, kept, dir, tell)
	err = errors.Join(err, metrics.f.Close())
	if err != nil {
		r.Status, r.Reason = Failed, err.Error()
		if ctx.Err() != nil {
			r.Status = Stopped
		} else {
			s.drop(e, err)
		}
	}
	r.Seconds += time.Since(begun).Seconds()
	most := peak()
	if t.memory != nil && ownMemory(s.choice.Platform) {
		most = *t.memory
	}
	if earlier != nil && earlier.Peak != nil {
		most = most.more(*earlier.Peak)
	}
	r.Peak = &most
	return r, errors.Join(err, writeEvents(dir, r), writeJSON(path, r))
}

// whole trains and scores. A panic on the way, as where a device's result cannot be
// read, is an error like another: other runs go on.
func (s *Session) whole(ctx context.Context, t *trainer, r *Record, metrics *metricsFile, kept []Metric, dir string, tell progress) (err error) {
	defer caught(&err)
	if err := s.steps(ctx, t, r, metrics, kept, dir, tell); err != nil || r.Status != Running {
		return err
	}
	if r.Validation, err = t.validate(t.e, r.Seed); err != nil {
		return err
	}
	if r.Evals, err = t.evaluate(t.e, datasets.Test, r.Seed); err != nil {
		return err
	}
	r.Status = Finished
	return nil
}

// steps trains until the end or until a step leaves something that is not
// finite. The steps in kept have been taken.
func (s *Session) steps(ctx context.Context, t *trainer, r *Record, metrics *metricsFile, kept []Metric, dir string, tell progress) error {
	e, total := t.e, t.e.Int("steps")
	tokens := float64(e.Int("batch") * e.Task.Info().T)
	all := slices.Clone(kept)
	saved, savedAt, every, keep := len(kept), time.Now(), e.Int("save_every"), e.Int("keep")
	if every == 0 { // checkpoints by the clock are for resume alone
		keep = 1
	}
	save := func(step int) error {
		saved, savedAt = step, time.Now()
		return errors.Join(metrics.f.Sync(), saveCheckpoint(dir, t.set, r.ConfigHash, step, keep))
	}
	// The next batches are made while the device works.
	batches := datasets.NewPrefetch(e.Task, datasets.Train, r.Seed, len(kept), e.Int("batch"), 1, 4)
	defer batches.Close()
	for step := len(kept) + 1; step <= total; step++ {
		if ctx.Err() != nil {
			stopped := fmt.Errorf("stopped after step %d", step-1)
			if saved < step-1 {
				stopped = errors.Join(stopped, save(step-1))
			}
			return stopped
		}
		b, err := batches.Next()
		if err != nil {
			return err
		}
		lr, rest := e.rates(step)
		start := time.Now()
		m, err := t.train(b, lr, rest)
		if err != nil {
			return err
		}
		took := time.Since(start).Seconds()
		r.Step = step
		all = append(all, Metric{step, Number(m.loss), Number(m.gradNorm), Number(lr), Number(took), m.updates})
		if err := metrics.add(all[step-1]); err != nil {
			return err
		}
		if bad := m.finite(); bad != nil {
			r.Status, r.Reason = Diverged, fmt.Sprintf("step %d: %v", step, bad)
			if every == 0 { // what is left must not depend on how fast the run was
				if err := dropCheckpoints(dir); err != nil {
					return err
				}
			}
			break
		}
		if step == total || every > 0 && step%every == 0 || every == 0 && time.Since(savedAt) > s.saveAfter {
			if err := save(step); err != nil {
				return err
			}
		}
		if tell != nil {
			tell(step, m, tokens/took)
		}
	}
	r.summarize(all, tokens)
	return nil
}

// summarize computes from all steps what the record says of training.
func (r *Record) summarize(steps []Metric, tokens float64) {
	tail := steps[len(steps)-max(1, len(steps)/10):]
	sum := 0.0
	var seconds []float64
	for _, m := range tail {
		sum += float64(m.Loss)
	}
	for _, m := range steps {
		seconds = append(seconds, float64(m.Seconds))
	}
	r.Final = Number(sum / float64(len(tail)))
	slices.Sort(seconds)
	r.TokensPerS = Number(tokens / seconds[len(seconds)/2])
}
