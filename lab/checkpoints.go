package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	gomodel "github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/layers/optim"
	"github.com/kalmarz/kalmarz/layers/param"
)

// A run's checkpoints are folders checkpoints/step-000000040 with two files,
// weights.safetensors and state.safetensors: the parameters, and the optimiser's
// moments and step count. A folder is filled under another name and then
// renamed, so it is there whole or not at all. No random state is kept, since
// initial values and batches are functions of (seed, step), and no position in
// the schedule, which is a function of the step.

// checkpoint is what training continues from.
type checkpoint struct {
	step           int
	dir            string
	weights, state map[string]array
}

func checkpointsDir(run string) string { return filepath.Join(run, "checkpoints") }

// saveCheckpoint writes the pair of files for a step, makes weights.safetensors
// in the run's folder the same as the pair's, and keeps only the newest pairs.
func saveCheckpoint(run string, set *param.Set, config string, step, keep int) error {
	weights, err := encodeWeights(set, step)
	if err != nil {
		return fmt.Errorf("%s: checkpoint of step %d: not saved: %w", run, step, err)
	}
	var arrays []array
	for v := range stateVariables(set) {
		t, err := v.Value()
		if err != nil {
			return fmt.Errorf("optimiser state %s: %w", v.Path(), err)
		}
		arrays = append(arrays, arrayOf(arrayName(v.Path()), t))
	}
	slices.SortFunc(arrays, func(a, b array) int { return strings.Compare(a.name, b.name) })
	state, err := encodeTensors(map[string]string{
		"step": fmt.Sprint(step), "seed": fmt.Sprint(set.Seed), "config": config, "weights": digest(weights),
	}, arrays)
	if err != nil {
		return err
	}
	all := checkpointsDir(run)
	if err := os.MkdirAll(all, 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(all, ".tmp-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp) // nothing is there any more once it has its name
	final := filepath.Join(all, fmt.Sprintf("step-%09d", step))
	err = errors.Join(
		os.Chmod(tmp, 0o755),
		writeFile(filepath.Join(tmp, "weights.safetensors"), weights),
		writeFile(filepath.Join(tmp, "state.safetensors"), state),
		syncDir(tmp),
	)
	if err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(final), os.Rename(tmp, final), syncDir(all)); err != nil {
		return err
	}
	return errors.Join(publishWeights(run, final), prune(run, keep))
}

// stateVariables yields what training changes beside the parameters.
func stateVariables(set *param.Set) func(yield func(*gomodel.Variable) bool) {
	return func(yield func(*gomodel.Variable) bool) {
		parameters := map[string]bool{}
		for _, e := range set.Entries() {
			parameters[e.Variable().Path()] = true
		}
		for v := range set.Store.IterVariables() {
			if !parameters[v.Path()] && !optim.IsAccumulated(v) && !yield(v) {
				return
			}
		}
	}
}

// publishWeights makes the run's weights.safetensors that of a checkpoint: a
// second name for the same file, or a copy where there are no such names.
func publishWeights(run, checkpoint string) error {
	from, to := filepath.Join(checkpoint, "weights.safetensors"), filepath.Join(run, "weights.safetensors")
	tmp := filepath.Join(checkpoint, ".tmp-link")
	os.Remove(tmp)
	if os.Link(from, tmp) == nil {
		return errors.Join(os.Rename(tmp, to), os.RemoveAll(tmp)) // renaming a file to itself leaves both names
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return writeFile(to, b)
}

// savedSteps lists the steps of which there are checkpoints, newest first.
func savedSteps(run string) ([]int, error) {
	entries, err := os.ReadDir(checkpointsDir(run))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var steps []int
	for _, e := range entries {
		var step int
		if n, _ := fmt.Sscanf(e.Name(), "step-%d", &step); n == 1 {
			steps = append(steps, step)
		}
	}
	slices.Sort(steps)
	slices.Reverse(steps)
	return steps, nil
}

// prune removes all but the newest checkpoints, and what was left half written.
func prune(run string, keep int) error {
	steps, err := savedSteps(run)
	if err != nil {
		return err
	}
	for _, step := range steps[min(keep, len(steps)):] {
		err = errors.Join(err, os.RemoveAll(filepath.Join(checkpointsDir(run), fmt.Sprintf("step-%09d", step))))
	}
	torn, _ := filepath.Glob(filepath.Join(checkpointsDir(run), ".tmp-*")) // the pattern is well formed
	for _, t := range torn {
		err = errors.Join(err, os.RemoveAll(t))
	}
	return err
}

// syncDir makes renames in a folder last. Where folders cannot be flushed the
// system keeps their order itself.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	d.Sync()
	return d.Close()
}
