package lab

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// configDiff lists the keys in which two configurations differ.
func configDiff(a, b []KeyValue) *table {
	t := &table{header: []string{"key", "A", "B"}}
	value := func(config []KeyValue, key string) string {
		for _, kv := range config {
			if kv.Key == key {
				return kv.Value
			}
		}
		return "(none)"
	}
	seen := map[string]bool{}
	for _, kv := range slices.Concat(a, b) {
		if x, y := value(a, kv.Key), value(b, kv.Key); x != y && !seen[kv.Key] {
			seen[kv.Key] = true
			t.add(kv.Key, x, y)
		}
	}
	return t
}

// differences says in what the results of two runs differ, to the byte; the
// times that steps took do not count.
func differences(a, b string) ([]string, error) {
	var out []string
	ra, err := ReadRecord(a)
	if err != nil {
		return nil, err
	}
	rb, err := ReadRecord(b)
	if err != nil {
		return nil, err
	}
	if ra.Status != rb.Status || ra.Step != rb.Step {
		out = append(out, fmt.Sprintf("status: %s at step %d, and %s at step %d", ra.Status, ra.Step, rb.Status, rb.Step))
	}
	metrics, err := metricDifference(filepath.Join(a, "metrics.jsonl"), filepath.Join(b, "metrics.jsonl"))
	if err != nil {
		return nil, err
	}
	weights, err := weightDifference(filepath.Join(a, "weights.safetensors"), filepath.Join(b, "weights.safetensors"))
	if err != nil {
		return nil, err
	}
	for _, d := range []string{metrics, weights} {
		if d != "" {
			out = append(out, d)
		}
	}
	x, err := json.Marshal([]any{ra.Evals, ra.Validation})
	if err != nil {
		return nil, err
	}
	y, err := json.Marshal([]any{rb.Evals, rb.Validation})
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(x, y) {
		out = append(out, "evaluations: other numbers")
	}
	return out, nil
}

// metricDifference is the first step at which metrics differ.
func metricDifference(a, b string) (string, error) {
	ma, err := ReadMetrics(a)
	if err != nil {
		return "", err
	}
	mb, err := ReadMetrics(b)
	if err != nil {
		return "", err
	}
	for i := range min(len(ma), len(mb)) {
		x, y := ma[i], mb[i]
		x.Seconds, y.Seconds = 0, 0
		p, err := json.Marshal(x)
		if err != nil {
			return "", err
		}
		q, err := json.Marshal(y)
		if err != nil {
			return "", err
		}
		if !bytes.Equal(p, q) {
			return fmt.Sprintf("metrics: from step %d on: %s, and %s", x.Step, p, q), nil
		}
	}
	if len(ma) != len(mb) {
		return fmt.Sprintf("metrics: %d steps, and %d", len(ma), len(mb)), nil
	}
	return "", nil
}

// weightDifference names the first array in which two checkpoints differ, and
// counts all.
func weightDifference(a, b string) (string, error) {
	_, errA := os.Stat(a)
	_, errB := os.Stat(b)
	switch { // a run that diverged early has none
	case errA != nil && errB != nil:
		return "", nil
	case errA != nil || errB != nil:
		return "weights: only one of the two has any", nil
	}
	var files [2][]byte
	var arrays [2]map[string]array
	for i, path := range []string{a, b} {
		var err error
		if files[i], err = os.ReadFile(path); err != nil {
			return "", err
		}
		if _, arrays[i], err = decodeTensors(files[i]); err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
	}
	if bytes.Equal(files[0], files[1]) {
		return "", nil
	}
	var names []string
	for name, x := range arrays[0] {
		y, ok := arrays[1][name]
		if !ok || !slices.Equal(x.dims, y.dims) || !slices.Equal(x.values, y.values) {
			names = append(names, name)
		}
	}
	for name := range arrays[1] {
		if _, ok := arrays[0][name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return "weights: the same values in files that differ", nil
	}
	return fmt.Sprintf("weights: %d of %d arrays, the first %s", len(names), len(arrays[0]), names[0]), nil
}
