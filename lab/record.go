package lab

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Metric is one line of metrics.jsonl: one optimiser step.
type Metric struct {
	Step     int    `json:"step"`
	Loss     Number `json:"loss"`      // nats per scored position
	GradNorm Number `json:"grad_norm"` // before clipping
	LR       Number `json:"lr"`
	Seconds  Number `json:"seconds"` // of this step
}

// Status says how a run stands.
type Status string

// The states of a run.
const (
	Running  Status = "running"
	Finished Status = "finished"
	Diverged Status = "diverged"
	Failed   Status = "failed"
)

// Evaluation is the accuracy of a trained model at one test length.
type Evaluation struct {
	Mode   string `json:"mode"`   // how the task was lengthened
	Factor int    `json:"factor"` // length / training length
	T      int    `json:"t"`
	Micro  Number `json:"micro"` // correct scored positions / scored positions
	Macro  Number `json:"macro"` // mean over classes of their recall
	Exact  Number `json:"exact"` // rows that are right throughout
	Chance Number `json:"chance"`
	Note   string `json:"note,omitempty"` // why there is no number
}

// Record is run.json: what was run, where, and what came out.
type Record struct {
	Config     []KeyValue     `json:"config"`
	Seed       uint64         `json:"seed"`
	Status     Status         `json:"status"`
	Reason     string         `json:"reason,omitempty"`
	Step       int            `json:"step"` // the last one taken
	Parameters int            `json:"parameters"`
	StateBytes int            `json:"state_bytes"` // of one sequence at the training length
	FLOPs      float64        `json:"flops_per_token"`
	TokensPerS Number         `json:"tokens_per_second"` // median over steps, in training
	Final      Number         `json:"final_loss"`        // mean of the last tenth of the steps
	Evals      []Evaluation   `json:"evaluations,omitempty"`
	Backend    string         `json:"backend"`
	Versions   map[string]any `json:"versions"`
	Command    []string       `json:"command"`
	Started    time.Time      `json:"started"`
	Seconds    float64        `json:"seconds"`
}

// writeFile replaces a file at once: its content is written beside it, flushed
// to the disk and renamed, so that a reader sees the old or the new one.
func writeFile(path string, content []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func writeJSON(path string, x any) error {
	b, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return writeFile(path, append(b, '\n'))
}

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

// metricsFile appends lines as steps are taken, each written out at once.
type metricsFile struct{ f *os.File }

func newMetricsFile(path string) (*metricsFile, error) {
	f, err := os.Create(path)
	return &metricsFile{f}, err
}

func (m *metricsFile) add(x Metric) error {
	b, err := json.Marshal(x)
	if err == nil {
		_, err = m.f.Write(append(b, '\n'))
	}
	return err
}
