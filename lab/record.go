package lab

import (
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

	Updates map[string]Number `json:"update_rms,omitempty"` // of the parameters' changes, by the optimiser that makes them
}

// Status says how a run stands.
type Status string

// The states of a run.
const (
	Running  Status = "running" // or killed, if no process has its folder
	Finished Status = "finished"
	Diverged Status = "diverged"
	Stopped  Status = "stopped" // by the user; can be resumed
	Failed   Status = "failed"
)

// Record is run.json: what was run, where, and what came out.
type Record struct {
	Config     []KeyValue     `json:"config"`
	ConfigHash string         `json:"config_hash,omitempty"`
	DataHash   string         `json:"data_hash,omitempty"` // of the first training batches
	Seed       uint64         `json:"seed"`
	Status     Status         `json:"status"`
	Reason     string         `json:"reason,omitempty"`
	Step       int            `json:"step"` // the last one taken
	Parameters int            `json:"parameters"`
	StateBytes int            `json:"state_bytes"` // of one sequence at the training length
	FLOPs      float64        `json:"flops_per_token"`
	TokensPerS Number         `json:"tokens_per_second"` // median over steps, in training
	Peak       *Memory        `json:"peak_memory,omitempty"`
	Final      Number         `json:"final_loss"`           // mean of the last tenth of the steps
	Validation *Evaluation    `json:"validation,omitempty"` // on validation rows, at the training length
	Evals      []Evaluation   `json:"evaluations,omitempty"`
	Repeatable bool           `json:"repeatable"` // the backend is known to give the same bytes for the same seed
	Backend    string         `json:"backend"`
	Device     string         `json:"device,omitempty"`
	Program    string         `json:"program,omitempty"` // runs of equal programs can stand for one another
	Versions   map[string]any `json:"versions"`
	Command    []string       `json:"command"`
	Started    time.Time      `json:"started"`
	Seconds    float64        `json:"seconds"`
	Resumed    []int          `json:"resumed,omitempty"` // the steps after which training went on in another process
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

// readJSON reads what writeJSON wrote; errors name the file.
func readJSON(path string, x any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, cause(err))
	}
	if err := json.Unmarshal(b, x); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func writeJSON(path string, x any) error {
	b, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return writeFile(path, append(b, '\n'))
}
