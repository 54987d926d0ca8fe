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

// submission is a line of slurm/jobs.jsonl in a sweep's folder.
type submission struct {
	Job       string    `json:"job"`
	Tasks     int       `json:"tasks"`
	Submitted time.Time `json:"submitted"`
}

// submit writes a sweep's folder and a job script in it, and hands that to sbatch.
func submit(ctx context.Context, s *Session, args []string) (err error) {
	j := slurmJob{}
	var slurm, dry bool
	tasks := ""
	words, err := readFlags(args, map[string]*string{
		"tasks": &tasks, "partition": &j.Partition, "time": &j.Time, "cpus": &j.CPUs, "mem": &j.Memory, "gpus": &j.GPUs,
	}, map[string]*bool{"slurm": &slurm, "dry-run": &dry, "again": &j.again})
	if err != nil {
		return err
	}
	if !slurm {
		return errors.New("to what? Known is sweep submit --slurm AXIS")
	}
	a, out, err := s.ablation(words, Auto)
	if err != nil {
		return err
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

// check refuses what would break the script's lines.
func (j slurmJob) check() error {
	for name, value := range map[string]string{"partition": j.Partition, "time": j.Time, "cpus": j.CPUs, "mem": j.Memory, "gpus": j.GPUs} {
		if strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r == '#' }) {
			return fmt.Errorf("--%s %q: must be one word", name, value)
		}
	}
	return nil
}

// writeScript puts the job script into the sweep's folder, and beside it a copy
// of this program: tasks that begin later are not to run another.
func (a *Ablation) writeScript(s *Session, j slurmJob) (path, script string, err error) {
	dir, err := filepath.Abs(filepath.Join(a.Dir, "slurm"))
	if err != nil {
		return "", "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", "", err
	}
	self, err := executable()
	if err != nil {
		return "", "", err
	}
	b, err := os.ReadFile(self)
	if err != nil {
		return "", "", err
	}
	program := filepath.Join(dir, "kalmarz-"+digest(b)[:8])
	if _, err := os.Stat(program); err != nil {
		if err := errors.Join(writeFile(program, b), os.Chmod(program, 0o755)); err != nil {
			return "", "", err
		}
	}
	here, err := os.Getwd()
	if err != nil {
		return "", "", err
	}
	path = filepath.Join(dir, "job.sh")
	script = j.script(a, here, program, s.Backend)
	return path, script, writeFile(path, []byte(script))
}

// script is a job array. Slurm's signal before the time limit ends a task at a
// step's end, with a checkpoint.
func (j slurmJob) script(a *Ablation, here, program, be string) string {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n")
	for _, o := range []struct{ name, value string }{
		{"job-name", "kalmarz-" + a.Axis.Name}, {"array", fmt.Sprintf("0-%d", j.Tasks-1)}, {"chdir", here},
		{"output", filepath.Join(filepath.Dir(program), "%A_%a.log")}, {"open-mode", "append"}, {"signal", "B:INT@60"},
		{"partition", j.Partition}, {"time", j.Time}, {"cpus-per-task", j.CPUs}, {"mem", j.Memory}, {"gpus-per-task", j.GPUs},
	} {
		if o.value != "" {
			fmt.Fprintf(&b, "#SBATCH --%s=%s\n", o.name, slurmQuote(o.value))
		}
	}
	if j.GPUs != "" {
		b.WriteString("#SBATCH --ntasks=1\n")
	}
	b.WriteString("# threads of Go and of XLA\nexport GOMAXPROCS=\"${SLURM_CPUS_PER_TASK:-${SLURM_CPUS_ON_NODE:-1}}\"\nexport NPROC=\"$GOMAXPROCS\"\n")
	fmt.Fprintf(&b, "exec %s work %s", shellQuote(program), shellQuote(a.Dir))
	if be != "" {
		b.WriteString(" " + shellQuote("backend="+be))
	}
	if j.again {
		b.WriteString(" --again")
	}
	b.WriteString("\n")
	return b.String()
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// slurmQuote quotes an option of an #SBATCH line, which is not the shell's.
func slurmQuote(s string) string {
	if strings.ContainsAny(s, " \t\"'\\") {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
	}
	return s
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
