package lab

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// sweepStatus tells how the runs of a sweep stand, and what Slurm says of its
// jobs.
func sweepStatus(ctx context.Context, s *Session, args []string) error {
	out, rest := s.folder(args)
	if len(rest) != 1 {
		return errors.New("expected one ablation: sweep status ABLATION")
	}
	a, err := openAblation(out, rest[0])
	if err != nil {
		return err
	}
	jobs, err := readSubmissions(a.Dir)
	if err != nil {
		return err
	}
	counts, problems := a.standing()
	if _, err := fmt.Fprintf(s.Out, "%s: %s\n", a.Dir, counts); err != nil {
		return err
	}
	for _, p := range problems {
		if _, err := fmt.Fprintln(s.Out, p); err != nil {
			return err
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	var ids []string
	for _, j := range jobs {
		ids = append(ids, j.Job)
	}
	_, err = fmt.Fprintf(s.Out, "Slurm: %s\n", queue(ctx, ids))
	return err
}

// standing counts an ablation's runs by state and names those that need
// attention. A run that says it is running while nobody has its folder is stale:
// its process was killed.
func (a *Ablation) standing() (counts string, problems []string) {
	states := []string{"finished", "diverged", "running", "stale", "stopped", "failed", "missing"}
	n := map[string]int{}
	for _, p := range a.plan() {
		state, why := "missing", ""
		if r := a.Runs[p.cell][p.k]; r != nil {
			state, why = string(r.Status), r.Reason
			if r.Status == Running && !locked(p.dir) {
				state, why = "stale", "its process was killed: sweep, ablate or submit again goes on with it"
			}
		} else if locked(p.dir) {
			state = string(Running) // it has just begun
		}
		n[state]++
		switch state {
		case "diverged", "stale", "failed":
			problems = append(problems, fmt.Sprintf("%s %s: %s", state, p.name, why))
		}
	}
	var parts []string
	for _, state := range states {
		parts = append(parts, fmt.Sprintf("%d %s", n[state], state))
	}
	return fmt.Sprintf("%d runs: %s", len(a.plan()), strings.Join(parts, ", ")), problems
}
