package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// runMissing trains a cell with a seed unless its folder already holds this very
// run: one that is complete is kept, and one that ended early is continued.
func (a *Ablation) runMissing(ctx context.Context, s *Session, e *Experiment, seed uint64, dir string, tell progress) (*Record, error) {
	r, err := ReadRecord(dir)
	if a.Again || err != nil || !s.sameRun(r, e, seed) {
		return s.run(ctx, e, seed, dir, tell)
	}
	if !r.complete() {
		return s.runFrom(ctx, e, seed, dir, r, tell)
	}
	if !hasFiles(r, dir) {
		return s.run(ctx, e, seed, dir, tell)
	}
	a.Kept++
	return r, nil
}

// hasFiles tells whether a complete run still has its files.
func hasFiles(r *Record, dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "metrics.jsonl"))
	if err == nil && r.Status == Finished {
		_, err = os.Stat(filepath.Join(dir, "weights.safetensors"))
	}
	return err == nil
}

// ablationFile is ablation.json: what an ablation's folder holds.
type ablationFile struct {
	Axis   string     `json:"axis"`
	Values []string   `json:"values"`
	Config []KeyValue `json:"config"` // of the baseline
}

func (a *Ablation) describe() error {
	return writeJSON(filepath.Join(a.Dir, "ablation.json"), ablationFile{a.Axis.Name, a.Values, a.Base.complete})
}

// ReadAblation takes an ablation from its folder, with the runs that are there.
func ReadAblation(dir string) (*Ablation, error) {
	path := filepath.Join(dir, "ablation.json")
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: not the folder of an ablation", path, cause(err))
	}
	var f ablationFile
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	base, err := (&Record{Config: f.Config}).experiment()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	a, err := NewAblation(f.Axis, f.Values, base)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	a.Dir = dir
	for i, e := range a.Cells {
		a.Runs = append(a.Runs, make([]*Record, base.Int("seeds")))
		for k := range a.Runs[i] {
			r, err := ReadRecord(a.cellDir(i, e.Int("seed")+k))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, err
			}
			a.Runs[i][k] = r
		}
	}
	return a, nil
}

// cellDir is the folder of one run.
func (a *Ablation) cellDir(cell, seed int) string {
	return filepath.Join(a.Dir, folderName(a.Values[cell]), fmt.Sprintf("seed-%d", seed))
}
