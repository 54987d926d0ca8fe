package lab

import (
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/kalmarz/kalmarz/layers/param"
)

// saveWeights writes the parameters.
func saveWeights(path string, set *param.Set, step int) error {
	b, err := encodeWeights(set, step)
	if err != nil {
		return fmt.Errorf("%s: not saved: %w", path, err)
	}
	return writeFile(path, b)
}

// encodeWeights makes a file of the parameters, after checking that all are
// finite: a checkpoint that cannot be used must not replace one that can.
func encodeWeights(set *param.Set, step int) ([]byte, error) {
	var arrays []array
	for _, e := range set.Entries() {
		t, err := e.Variable().Value()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name, err)
		}
		a := arrayOf(arrayName(e.Name), t)
		for i, v := range a.values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("%s[%d] is %v", e.Name, i, v)
			}
		}
		arrays = append(arrays, a)
	}
	return encodeTensors(map[string]string{"step": fmt.Sprint(step), "seed": fmt.Sprint(set.Seed)}, arrays)
}

// arrayName is a variable's name in a file: block.0.w for /block/0/w.
func arrayName(path string) string {
	return strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", ".")
}

// Weights are the arrays of a checkpoint by name.
type Weights map[string][]float64

// ReadWeights reads a checkpoint's parameters and the step at which they were
// written.
func ReadWeights(path string) (w Weights, step int, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	metadata, arrays, err := decodeTensors(b)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	if _, err := fmt.Sscan(metadata["step"], &step); err != nil {
		return nil, 0, fmt.Errorf("%s: metadata: step = %q: %w", path, metadata["step"], err)
	}
	w = Weights{}
	for name, a := range arrays {
		w[name] = a.values
	}
	return w, step, nil
}
