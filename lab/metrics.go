package lab

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// ReadMetrics reads a metrics.jsonl.
func ReadMetrics(path string) ([]Metric, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []Metric
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var m Metric
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, len(out)+1, err)
		}
		out = append(out, m)
	}
	return out, lines.Err()
}

// recoverMetrics reads the metrics of a run that ended at any moment: lines of steps 1,
// 2, 3 and so on, of which the last may be torn. No file is no lines.
func recoverMetrics(path string, warn func(string)) ([]Metric, error) {
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var out []Metric
	for len(b) > 0 {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		var m Metric
		err := json.Unmarshal(line, &m)
		if n := len(out) + 1; err == nil && m.Step != n {
			err = fmt.Errorf("step = %d: want %d", m.Step, n)
		}
		switch {
		case !whole || err != nil && len(rest) == 0:
			warn(fmt.Sprintf("warning: %s:%d: torn line is dropped", path, len(out)+1))
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("%s:%d: %w", path, len(out)+1, err)
		}
		out, b = append(out, m), rest
	}
	return out, nil
}

// metricsFile appends lines as steps are taken, each written out at once.
type metricsFile struct{ f *os.File }

// newMetricsFile starts a file with the lines that are kept of an earlier part
// of the run. It appears with them or not at all.
func newMetricsFile(path string, kept []Metric) (*metricsFile, error) {
	var b []byte
	for _, m := range kept {
		line, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		b = append(append(b, line...), '\n')
	}
	if err := writeFile(path, b); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	return &metricsFile{f}, err
}

func (m *metricsFile) add(x Metric) error {
	b, err := json.Marshal(x)
	if err == nil {
		_, err = m.f.Write(append(b, '\n'))
	}
	return err
}
