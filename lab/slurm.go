package lab

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/kalmarz/kalmarz/lab/backend"
)

// slurmJob is what a sweep asks of Slurm: a job array whose tasks take runs from
// the sweep's folder. Empty options are the cluster's defaults.
type slurmJob struct {
	Tasks                               int
	Partition, Time, CPUs, Memory, GPUs string
	again                               bool
}

// submit writes a sweep's folder and a job script in it, and hands that to sbatch.
func submit(ctx context.Context, s *Session, args []string) (err error) {
	j := slurmJob{}
	var slurm, dry bool
	tasks := ""
	a, out, err := s.ablation(args, Auto, map[string]*string{
		"tasks": &tasks, "partition": &j.Partition, "time": &j.Time, "cpus": &j.CPUs, "mem": &j.Memory, "gpus": &j.GPUs,
	}, map[string]*bool{"slurm": &slurm, "dry-run": &dry, "again": &j.again})
	if err != nil {
		return err
	}
	if !slurm {
		return errors.New("to what? Known is sweep submit --slurm AXIS")
	}
	if a.Jobs != Auto {
		return fmt.Errorf("jobs = %d: in Slurm --tasks is the number of processes", a.Jobs)
	}
	j.Tasks = min(len(a.Cells), 64)
	if tasks != "" {
		if j.Tasks, err = strconv.Atoi(tasks); err != nil || j.Tasks < 1 || j.Tasks > len(a.plan()) {
			return fmt.Errorf("--tasks %s: must be a whole number from 1 to %d, the number of runs", tasks, len(a.plan()))
		}
	}
	if err := j.check(); err != nil {
		return err
	}
	choice, err := backend.Choose(s.Backend)
	if err != nil && !dry { // the nodes may have what this host lacks
		s.note("warning: " + err.Error())
	}
	if choice.Platform == "xla:cuda" && j.GPUs == "" {
		j.GPUs = "1"
	}
	sbatch, err := exec.LookPath("sbatch")
	if err != nil && !dry {
		return errors.New("sbatch is not here: run this on a host that submits to Slurm, write the script alone with --dry-run, or use sweep without submit")
	}
	a.Jobs = Auto // so that no backend is opened here
	if err := a.prepare(s, out); err != nil {
		return err
	}
	unlock, err := shareFolder(a.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := a.describe(); err != nil {
		return err
	}
	path, script, err := a.writeScript(s, j)
	if err != nil {
		return err
	}
	if dry {
		_, err := fmt.Fprintf(s.Out, "%s\n%s", path, script)
		return err
	}
	id, err := askSlurm(ctx, sbatch, "--parsable", path)
	if err != nil {
		return err
	}
	id, _, _ = strings.Cut(id, ";") // a cluster's name may follow
	if err := addSubmission(a.Dir, submission{id, j.Tasks, time.Now()}); err != nil {
		return fmt.Errorf("job %s is submitted, but this is not recorded: %w", id, err)
	}
	_, err = fmt.Fprintf(s.Out, "job %s, %d tasks for %d runs: sweep status %s\n", id, j.Tasks, len(a.plan()), a.Dir)
	return err
}
