package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// submission is a line of slurm/jobs.jsonl in a sweep's folder.
type submission struct {
	Job       string    `json:"job"`
	Tasks     int       `json:"tasks"`
	Submitted time.Time `json:"submitted"`
}

// askSlurm runs one of Slurm's programs.
func askSlurm(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	c := exec.CommandContext(ctx, program, args...)
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		said, _, _ := strings.Cut(strings.TrimSpace(errs.String()), "\n")
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(program), err, said)
	}
	return strings.TrimSpace(out.String()), nil
}

func submissionsFile(dir string) string { return filepath.Join(dir, "slurm", "jobs.jsonl") }

func addSubmission(dir string, x submission) error {
	b, err := os.ReadFile(submissionsFile(dir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	line, err := json.Marshal(x)
	if err != nil {
		return err
	}
	return writeFile(submissionsFile(dir), slices.Concat(b, line, []byte("\n")))
}

func readSubmissions(dir string) (out []submission, err error) {
	f, err := os.Open(submissionsFile(dir))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for d := json.NewDecoder(f); ; {
		var x submission
		switch err := d.Decode(&x); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", submissionsFile(dir), err)
		}
		out = append(out, x)
	}
}

// queue is what squeue says of jobs: the tasks that wait or run, by state.
func queue(ctx context.Context, jobs []string) string {
	squeue, err := exec.LookPath("squeue")
	if err != nil {
		return "squeue is not here to ask about job " + strings.Join(jobs, ", ")
	}
	// All of the user's, since squeue fails on a job that it no longer knows.
	text, err := askSlurm(ctx, squeue, "--me", "--noheader", "--array", "--format=%A %F %T %r")
	if err != nil {
		return err.Error()
	}
	n, order := map[string]int{}, []string{}
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSpace(line), " ", 4)
		if len(f) < 4 {
			continue
		}
		for _, j := range jobs {
			if f[1] != j {
				continue
			}
			state := fmt.Sprintf("job %s %s", j, strings.ToLower(f[2]))
			if f[3] != "None" {
				state += " (" + f[3] + ")"
			}
			if n[state]++; n[state] == 1 {
				order = append(order, state)
			}
		}
	}
	if len(order) == 0 {
		return fmt.Sprintf("job %s: no task is left in the queue", strings.Join(jobs, ", "))
	}
	for i, state := range order {
		order[i] = fmt.Sprintf("%s: %d tasks", state, n[state])
	}
	return strings.Join(order, "; ")
}
