package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/kalmarz/kalmarz/datasets"
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
	Axes   []ablationAxis `json:"axes"`
	Rates  []string       `json:"learning_rates,omitempty"`
	Config []KeyValue     `json:"config"`          // of the baseline
	Given  []KeyValue     `json:"given,omitempty"` // of that, what is not a default: another mixer has other defaults
}

type ablationAxis struct {
	Name   string   `json:"axis"`
	Values []string `json:"values"`
}

func (a *Ablation) describe() error {
	f := ablationFile{Rates: a.Rates, Config: a.Base.complete}
	for _, ax := range a.Axes {
		f.Axes = append(f.Axes, ablationAxis{ax.Name, ax.Values})
	}
	for _, key := range slices.Sorted(maps.Keys(a.Base.given)) {
		f.Given = append(f.Given, KeyValue{key, a.Base.given[key]})
	}
	return writeJSON(filepath.Join(a.Dir, "ablation.json"), f)
}

// ReadAblation takes an ablation from its folder, with the runs that are there.
func ReadAblation(dir string) (*Ablation, error) {
	path := filepath.Join(dir, "ablation.json")
	var f ablationFile
	if err := readJSON(path, &f); err != nil {
		return nil, fmt.Errorf("%w: not the folder of an ablation", err)
	}
	a, err := f.ablation()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	a.Dir = dir
	for i, e := range a.Cells {
		a.Runs = append(a.Runs, make([]*Record, e.Int("seeds")))
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

func (f ablationFile) ablation() (*Ablation, error) {
	given := f.Given
	if given == nil {
		given = f.Config
	}
	base, err := rebuildFrom(given, f.Config, datasets.Open)
	if err != nil {
		return nil, err
	}
	var axes []Varied
	for _, x := range f.Axes {
		ax, err := Vary(x.Name, x.Values...)
		if err != nil {
			return nil, err
		}
		axes = append(axes, ax)
	}
	if len(axes) == 0 {
		return nil, errors.New("axes: must be one or two")
	}
	return NewAblation(base, f.Rates, axes...)
}

// cellDir is the folder of one run: a folder for each axis.
func (a *Ablation) cellDir(cell, seed int) string {
	parts := []string{a.Dir}
	for k, v := range a.values(cell) {
		if k == len(a.Axes) {
			v = "lr-" + v
		}
		parts = append(parts, folderName(v))
	}
	return filepath.Join(append(parts, fmt.Sprintf("seed-%d", seed))...)
}
