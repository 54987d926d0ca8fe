package lab

import (
	"context"
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
	Axes   []ablationAxis `json:"axes"`
	Rates  []string       `json:"learning_rates,omitempty"`
	Config []KeyValue     `json:"config"` // of the baseline
	Given  []string       `json:"given"`  // the words that it was made from
}

type ablationAxis struct {
	Name   string   `json:"axis"`
	Values []string `json:"values"`
}

func (a *Ablation) describe() error {
	f := ablationFile{Rates: a.Rates, Config: a.Base.complete, Given: a.Base.words()}
	for _, ax := range a.Axes {
		f.Axes = append(f.Axes, ablationAxis{ax.Name, ax.Values})
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

func (f *ablationFile) ablation() (*Ablation, error) {
	base, err := f.baseline()
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
		return nil, errors.New("axes: must be one, two or three")
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
