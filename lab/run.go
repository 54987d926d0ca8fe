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
	"github.com/kalmarz/kalmarz/layers/optim"
)

// progress is told of every step of a run.
type progress func(step int, m measured, tokensPerS float64)

// run trains one experiment with one seed and writes its folder: run.json at
// the start and at the end, metrics.jsonl step by step, weights.safetensors at
// checkpoints. A run that diverges is a result, not an error: its record says
// at which step, and the checkpoint is the last one before it.
func (s *Session) run(ctx context.Context, e *Experiment, seed uint64, dir string, tell progress) (*Record, error) {
	t, err := s.trainer(e)
	if err != nil {
		return nil, err
	}
	if err := t.reset(e, seed); err != nil {
		return nil, err
	}
	r, err := s.newRecord(e, seed)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "run.json")
	if err := writeJSON(path, r); err != nil {
		return nil, err
	}
	metrics, err := newMetricsFile(filepath.Join(dir, "metrics.jsonl"))
	if err != nil {
		return nil, err
	}
	err = s.steps(ctx, t, r, metrics, dir, tell)
	err = errors.Join(err, metrics.f.Close())
	if err == nil && r.Status == Running {
		r.Evals, err = t.evaluate(e, seed)
		r.Status = Finished
	}
	if err != nil {
		r.Status, r.Reason = Failed, err.Error()
	}
	r.Seconds = time.Since(r.Started).Seconds()
	return r, errors.Join(err, writeJSON(path, r))
}

// steps trains until the end or until a step leaves something that is not
// finite.
func (s *Session) steps(ctx context.Context, t *trainer, r *Record, metrics *metricsFile, dir string, tell progress) error {
	e, total := t.e, t.e.Int("steps")
	tokens := float64(e.Int("batch") * e.Task.Info().T)
	weights := filepath.Join(dir, "weights.safetensors")
	if err := os.Remove(weights); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var seconds, losses []float64
	for step := 1; step <= total; step++ {
		if ctx.Err() != nil {
			return fmt.Errorf("stopped after step %d", step-1)
		}
		b, err := e.Task.Batch(datasets.Train, r.Seed, step-1, e.Int("batch"))
		if err != nil {
			return err
		}
		lr := optim.Cosine(e.Float("lr"), e.Float("lr_floor"), e.Int("warmup"), total, step)
		start := time.Now()
		m, err := t.train(b, lr)
		if err != nil {
			return err
		}
		took := time.Since(start).Seconds()
		r.Step = step
		if err := metrics.add(Metric{step, Number(m.loss), Number(m.gradNorm), Number(lr), Number(took)}); err != nil {
			return err
		}
		seconds, losses = append(seconds, took), append(losses, m.loss)
		if bad := m.finite(); bad != nil {
			r.Status, r.Reason = Diverged, fmt.Sprintf("step %d: %v", step, bad)
			break
		}
		if every := e.Int("save_every"); step == total || every > 0 && step%every == 0 {
			if err := saveWeights(weights, t.set, step); err != nil {
				return err
			}
		}
		if tell != nil {
			tell(step, m, tokens/took)
		}
	}
	tail := losses[len(losses)-max(1, len(losses)/10):]
	sum := 0.0
	for _, l := range tail {
		sum += l
	}
	r.Final = Number(sum / float64(len(tail)))
	slices.Sort(seconds)
	r.TokensPerS = Number(tokens / seconds[len(seconds)/2])
	return nil
}

// evaluate scores the trained model on test rows at every length and in every
// mode in which the task can be lengthened.
func (t *trainer) evaluate(e *Experiment, seed uint64) ([]Evaluation, error) {
	factors, err := e.Lengths()
	if err != nil {
		return nil, err
	}
	modes := e.Task.Lengths()
	if len(modes) == 0 {
		modes, factors = []string{""}, []int{1}
	}
	var out []Evaluation
	for _, mode := range modes {
		for _, f := range factors {
			ev := Evaluation{Mode: mode, Factor: f}
			task := e.Task
			if f > 1 {
				if task, err = e.Task.Longer(f, mode); err != nil {
					ev.Note = err.Error()
					out = append(out, ev)
					continue
				}
			}
			sc, err := t.score(task, datasets.Test, seed, e.Int("eval_rows"))
			if err != nil {
				return nil, fmt.Errorf("evaluation at %dx: %w", f, err)
			}
			info := task.Info()
			ev.T, ev.Chance = info.T, Number(info.Chance)
			ev.Micro, ev.Macro, ev.Exact = Number(sc.Micro), Number(sc.Macro), Number(sc.Exact)
			out = append(out, ev)
		}
	}
	return out, nil
}
