package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

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
		{"job-name", "kalmarz-" + strings.Join(a.names(), "-x-")}, {"array", fmt.Sprintf("0-%d", j.Tasks-1)}, {"chdir", here},
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
