package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kalmarz/kalmarz/datasets"
)

// opener makes a task from its name and options.
type opener func(name string, given map[string]string) (datasets.Task, error)

// rebuild makes the experiment whose complete configuration is given. Keys that
// have come since are at their defaults.
func rebuild(config []KeyValue, open opener) (*Experiment, error) {
	words := map[string]string{}
	for _, kv := range config {
		words[kv.Key] = kv.Value
	}
	e, err := buildWith(words, open)
	if err != nil {
		return nil, err
	}
	return e, e.agrees(config)
}

// agrees fails if a recorded configuration is not that of the experiment.
func (e *Experiment) agrees(config []KeyValue) error {
	for _, kv := range config {
		if !slices.Contains(e.complete, kv) {
			return fmt.Errorf("%s = %s is not what this program makes of the configuration", kv.Key, kv.Value)
		}
	}
	return nil
}

// loadRun rebuilds the model of a run's folder with its trained weights. A text
// is not read again: the experiment's task then has tokens but no rows.
func (s *Session) loadRun(dir string) (*Experiment, *trainer, error) {
	r, err := ReadRecord(dir)
	if err != nil {
		return nil, nil, err
	}
	e, err := rebuild(r.Config, datasets.Unread)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", filepath.Join(dir, "run.json"), err)
	}
	t, err := s.loadWeights(dir, r, e)
	return e, t, err
}

// loadWeights gives the model of e, which must be the run's, the run's weights.
func (s *Session) loadWeights(dir string, r *Record, e *Experiment) (*trainer, error) {
	path := filepath.Join(dir, "weights.safetensors")
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: not there: the run has status %s after step %d and saved none", path, r.Status, r.Step)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, cause(err))
	}
	_, arrays, err := decodeTensors(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t, err := s.trainer(e)
	if err != nil {
		return nil, err
	}
	if err := t.load(e, r.Seed, arrays); err != nil {
		return nil, fmt.Errorf("%s does not fit the model of run.json: %w", path, err)
	}
	return t, nil
}

// load gives the parameters the values of arrays, which must be theirs by name
// and shape, all of them.
func (t *trainer) load(e *Experiment, seed uint64, arrays map[string]array) error {
	short := datasets.Batch{Rows: 1, T: 4, Inputs: make([]int32, 4), Targets: make([]int32, 4)}
	if _, _, err := t.answer(short); err != nil { // the graph makes the parameters
		return err
	}
	if err := t.reset(e, seed); err != nil {
		return err
	}
	known := map[string]bool{}
	var wrong []string
	for _, entry := range t.set.Entries() {
		name := arrayName(entry.Name)
		known[name] = true
		a, ok := arrays[name]
		switch {
		case !ok:
			wrong = append(wrong, fmt.Sprintf("%s %v is missing", name, entry.Dims))
			continue
		case a.shape().DType != entry.Variable().DType():
			wrong = append(wrong, fmt.Sprintf("%s is %s: want %s", name, a.shape().DType, entry.Variable().DType()))
			continue
		case !a.fits(entry.Variable()):
			wrong = append(wrong, fmt.Sprintf("%s has shape %v and %d values: want %v", name, a.dims, len(a.values), entry.Dims))
			continue
		}
		if err := entry.Variable().SetValue(a.tensor()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for name := range arrays {
		if !known[name] {
			wrong = append(wrong, name+" is not in the model")
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	if n := len(wrong); n > 5 {
		wrong = append(wrong[:5], fmt.Sprintf("and %d more", n-5))
	}
	return errors.New(strings.Join(wrong, "; "))
}
