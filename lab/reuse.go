package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// take trains one run unless its folder already holds this very run: one that is
// complete is kept, and one that ended early is continued.
func (a *Ablation) take(ctx context.Context, s *Session, p planned, sweep string, w watcher) (r *Record, ran bool, err error) {
	if r, whole := a.there(s, p); whole {
		return r, false, nil
	}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return nil, false, err
	}
	unlock, err := claim(p.dir, sweep)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	r, whole := a.there(s, p) // another process may have run it just now
	if whole {
		return r, false, nil
	}
	if w.begin != nil {
		w.begin(p)
	}
	var tell progress
	if w.step != nil {
		tell = func(step int, m measured, tokensPerS float64) { w.step(p, step, m, tokensPerS) }
	}
	r, err = s.runHeld(ctx, p.e, p.seed, p.dir, r, tell)
	return r, true, err
}

// there returns the record of this very run if its folder has it, and whether
// nothing is left to run.
func (a *Ablation) there(s *Session, p planned) (r *Record, whole bool) {
	r, err := ReadRecord(p.dir)
	switch {
	case a.Again || err != nil || !s.sameRun(r, p.e, p.seed):
		return nil, false
	case !r.complete():
		return r, false
	case !hasFiles(r, p.dir):
		return nil, false
	}
	return r, true
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
	Given  []string   `json:"given"`  // the words that it was made from
}

func (a *Ablation) describe() error {
	return writeJSON(filepath.Join(a.Dir, "ablation.json"), ablationFile{a.Axis.Name, a.Values, a.Base.complete, a.Base.words()})
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
	base, err := f.baseline()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	a, err := NewAblation(f.Axis, f.Values, base)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	a.Dir = dir
	return a, a.read()
}

// read takes the records that are in the ablation's folder.
func (a *Ablation) read() error {
	a.Runs = nil
	for range a.Cells {
		a.Runs = append(a.Runs, make([]*Record, a.Base.Int("seeds")))
	}
	for _, p := range a.plan() {
		r, err := ReadRecord(p.dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		a.Runs[p.cell][p.k] = r
	}
	return nil
}

// baseline is built from the words it was made from: a complete configuration
// has options of the baseline's mixer that a cell's may lack.
func (f *ablationFile) baseline() (*Experiment, error) {
	if f.Given == nil { // written before there were such words
		return (&Record{Config: f.Config}).experiment()
	}
	base, err := Parse(f.Given)
	if err != nil {
		return nil, err
	}
	return base, base.agrees(f.Config)
}

// cellDir is the folder of one run.
func (a *Ablation) cellDir(cell, seed int) string {
	return filepath.Join(a.Dir, folderName(a.Values[cell]), fmt.Sprintf("seed-%d", seed))
}
