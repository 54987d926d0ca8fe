package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/gomlx/gomlx/core/tensors"
	gomodel "github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/datasets"
)

// newestCheckpoint finds the newest pair that is whole, of one step, and of this
// configuration and seed, among those not beyond the last step that is in the
// metrics. Others are skipped and told of. Nil means that there is none.
func newestCheckpoint(run, config string, seed uint64, last int, warn func(string)) (*checkpoint, error) {
	steps, err := savedSteps(run)
	if err != nil {
		return nil, err
	}
	for _, step := range steps {
		c := &checkpoint{step: step, dir: filepath.Join(checkpointsDir(run), fmt.Sprintf("step-%09d", step))}
		err := c.read(config, seed)
		if err == nil && step > last {
			err = fmt.Errorf("metrics.jsonl ends at step %d", last)
		}
		if err == nil {
			return c, nil
		}
		warn(fmt.Sprintf("warning: checkpoint %s is skipped: %v", c.dir, err))
	}
	return nil, nil
}

// read loads a pair and checks that its files belong together.
func (c *checkpoint) read(config string, seed uint64) error {
	var metadata [2]map[string]string
	var weightsDigest string
	for i, name := range []string{"weights.safetensors", "state.safetensors"} {
		b, err := os.ReadFile(filepath.Join(c.dir, name))
		if err != nil {
			return err
		}
		m, arrays, err := decodeTensors(b)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if m["step"] != strconv.Itoa(c.step) || m["seed"] != strconv.FormatUint(seed, 10) {
			return fmt.Errorf("%s is of step %s, seed %s: want step %d, seed %d", name, m["step"], m["seed"], c.step, seed)
		}
		metadata[i] = m
		if i == 0 {
			c.weights, weightsDigest = arrays, digest(b)
		} else {
			c.state = arrays
		}
	}
	if metadata[1]["weights"] != weightsDigest {
		return fmt.Errorf("state.safetensors belongs to other weights")
	}
	if metadata[1]["config"] != config {
		return fmt.Errorf("it is of another configuration (%s, not %s)", metadata[1]["config"], config)
	}
	return nil
}

// restore gives parameters and optimiser the values of a checkpoint of e. Both
// are made when a graph is first built, so a trainer that has not yet taken a
// step takes one, whose effects are then overwritten.
func (t *trainer) restore(e *Experiment, seed uint64, c *checkpoint) error {
	if t.opt == nil {
		b, err := e.Task.Batch(datasets.Train, seed, 0, e.Int("batch"))
		if err != nil {
			return err
		}
		if _, err := t.train(b, 0, 0); err != nil {
			return err
		}
		if err := t.reset(e, seed); err != nil {
			return err
		}
	}
	used := 0
	for _, entry := range t.set.Entries() {
		v, err := c.tensor(c.weights, arrayName(entry.Name), entry.Variable())
		if err == nil {
			err = entry.Variable().SetValue(v)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.dir, err)
		}
		used++
	}
	for variable := range stateVariables(t.set) {
		v, err := c.tensor(c.state, arrayName(variable.Path()), variable)
		if err == nil {
			err = variable.SetValue(v)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.dir, err)
		}
		used++
	}
	if n := len(c.weights) + len(c.state); n != used {
		return fmt.Errorf("%s has %d arrays, and the model and its optimiser %d", c.dir, n, used)
	}
	return nil
}

// tensor is one array of a checkpoint, which must have the variable's type and
// shape.
func (c *checkpoint) tensor(from map[string]array, name string, of *gomodel.Variable) (*tensors.Tensor, error) {
	a, ok := from[name]
	if !ok || !a.fits(of) {
		return nil, fmt.Errorf("%s: %s: want %s", name, a.shape(), of.Shape())
	}
	return a.tensor(), nil
}
