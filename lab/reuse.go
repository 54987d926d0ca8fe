package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

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
