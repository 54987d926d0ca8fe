package lab

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSlurm submits a sweep to the Slurm of this host, and gets the runs that one
// process gets; and again after another was killed and cancelled midway.
// .ci/slurm sets such a Slurm up.
func TestSlurm(t *testing.T) {
	for _, program := range []string{"sbatch", "squeue", "scancel"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("there is no Slurm here: .ci/slurm sets one up")
		}
	}
	if out, err := exec.Command("squeue", "--me").CombinedOutput(); err != nil {
		if os.Getenv("KALMARZ_TEST_SLURM") != "" {
			t.Fatalf("squeue: %v: %s", err, out)
		}
		t.Skip("Slurm does not answer: .ci/slurm sets one up")
	}
	// Its jobs run the test binary as the program.
	out := t.TempDir()
	sweep := func(args ...string) string {
		t.Helper()
		c := testProgram(t, append([]string{"sweep"}, args...)...)
		var errs bytes.Buffer
		c.Stderr = &errs
		said, err := c.Output()
		if err != nil {
			t.Fatalf("sweep %v: %v: %s", args, err, errs.String())
		}
		return string(said)
	}
	submit := func(steps int, flags ...string) (string, *Ablation) {
		t.Helper()
		words := fmt.Sprintf("steps=%d width=8 dk=4 dv=4 heads=1 batch=2 warmup=2 eval_rows=8 seeds=2 lengths=1,2 save_every=5 keep=2", steps)
		a := ablation(t, words, "learned", "0.5", "1")
		a.Dir = filepath.Join(out, a.name())
		said := sweep(slices.Concat([]string{"submit", "--slurm", "eta", "learned", "0.5", "1", "backend=go", "out=" + out}, strings.Fields(words), flags)...)
		return said, a
	}
	status := func(a *Ablation) string { t.Helper(); return sweep("status", a.Dir) }
	await := func(a *Ablation, what string) string {
		t.Helper()
		said := ""
		for limit := time.Now().Add(time.Minute); time.Now().Before(limit); time.Sleep(100 * time.Millisecond) {
			if said = status(a); strings.Contains(said, what) {
				return said
			}
		}
		logs, _ := filepath.Glob(filepath.Join(a.Dir, "slurm", "*.log"))
		for _, l := range logs {
			b, _ := os.ReadFile(l)
			t.Logf("%s:\n%s", l, b)
		}
		t.Fatalf("no %q within a minute: %s", what, said)
		return ""
	}

	said, a := submit(20, "--tasks", "3", "--cpus", "1", "--time", "10:00")
	if !strings.Contains(said, "3 tasks for 6 runs") {
		t.Errorf("submit said %s", said)
	}
	if said := await(a, "no task is left"); !strings.Contains(said, "6 runs: 6 finished, 0 diverged, 0 running, 0 stale, 0 stopped, 0 failed, 0 missing") {
		t.Errorf("status: %s", said)
	}
	plain := ablation(t, strings.Join(pairs(a.Base.Complete()), " "), a.Axes[0].Values...)
	finish(t, plain, session(), t.TempDir())
	for _, p := range a.plan() {
		if got, want := outcome(t, p.dir, 20), outcome(t, plain.cellDir(p.cell, int(p.seed)), 20); got != want {
			t.Errorf("%s: got\n%swant\n%s", p.name, got, want)
		}
	}
	if _, err := os.Stat(filepath.Join(a.Dir, "table.md")); err != nil {
		t.Errorf("the last task left no table: %v", err)
	}
	began := 0 // each run once, by whichever task
	logs, err := filepath.Glob(filepath.Join(a.Dir, "slurm", "*_*.log"))
	if err != nil || len(logs) != 3 {
		t.Errorf("logs %v, %v", logs, err)
	}
	for _, l := range logs {
		b, err := os.ReadFile(l)
		if err != nil {
			t.Fatal(err)
		}
		began += strings.Count(string(b), "  loss ")
	}
	if began != 6 {
		t.Errorf("%d runs were executed, want 6", began)
	}

	// A task that is killed leaves a stale run, and a job that is cancelled stops
	// after its step; another submission goes on with both.
	_, a = submit(80, "--tasks", "2")
	saved := func() (with []planned) {
		for _, p := range a.plan() {
			if steps, err := savedSteps(p.dir); err == nil && len(steps) > 0 {
				with = append(with, p)
			}
		}
		return with
	}
	for limit := time.Now().Add(time.Minute); len(saved()) < 2; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("no checkpoints: %s", status(a))
		}
	}
	if err := exec.Command("kill", "-KILL", readOwner(saved()[0].dir).process).Run(); err != nil {
		t.Fatal(err)
	}
	jobs, err := readSubmissions(a.Dir)
	if err != nil || len(jobs) != 1 {
		t.Fatalf("submissions %v, %v", jobs, err)
	}
	if out, err := exec.Command("scancel", jobs[0].Job).CombinedOutput(); err != nil {
		t.Fatalf("scancel: %v: %s", err, out)
	}
	if said := await(a, "no task is left"); !strings.Contains(said, "6 runs: 0 finished, 0 diverged, 0 running, 1 stale, 1 stopped, 0 failed, 4 missing") || !strings.Contains(said, "stale "+saved()[0].name) {
		t.Errorf("status after the kill: %s", said)
	}
	submit(80, "--tasks", "2")
	if said := await(a, "6 finished"); !strings.Contains(said, "Slurm: job") {
		t.Errorf("status: %s", said)
	}
	await(a, "no task is left")
	resumed := 0
	for _, p := range a.plan() {
		resumed += len(readRecord(t, p.dir).Resumed)
	}
	if resumed != 2 {
		t.Errorf("%d runs were resumed, want 2", resumed)
	}
}

// TestSlurmScript: the words of a submission become options of the script, and
// mistakes are refused before anything is written.
func TestSlurmScript(t *testing.T) {
	out := filepath.Join(t.TempDir(), "a b'c")
	small := append(strings.Fields(resumable), "out="+out)
	words := func(w ...string) []string {
		return slices.Concat([]string{"submit", "--slurm", "eta", "0.5", "1"}, small, w)
	}
	for flags, want := range map[string]string{
		"--tasks 3":              "--tasks 3: must be a whole number from 1 to 2, the number of runs",
		"--tasks x":              "--tasks x: must be",
		"--tasks":                "--tasks needs a value",
		"--queue x":              "unknown flag --queue",
		"jobs=2":                 "jobs = 2: in Slurm --tasks is the number of processes",
		"--partition= --dry-run": "",
	} {
		text, err := say(t, "sweep", words(strings.Fields(flags)...)...)
		if want == "" && (err != nil || strings.Contains(text, "partition")) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q\n%s", flags, err, want, text)
		}
	}
	if _, err := say(t, "sweep", words("--time", "1 0", "--dry-run")...); err == nil || !strings.Contains(err.Error(), `--time "1 0": must be one word`) {
		t.Errorf("error %v", err)
	}
	if _, err := say(t, "sweep", "submit", "eta"); err == nil || !strings.Contains(err.Error(), "sweep submit --slurm AXIS") {
		t.Errorf("error %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := say(t, "sweep", words()...); err == nil || !strings.HasPrefix(err.Error(), "sbatch is not here: ") {
		t.Errorf("error %v", err)
	}
	text, err := say(t, "sweep", words("--tasks", "2", "--partition", "long", "--time", "1:00:00", "--cpus", "4", "--mem", "8G", "--gpus", "1", "--again", "--dry-run")...)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"#SBATCH --array=0-1\n", "#SBATCH --partition=long\n", "#SBATCH --time=1:00:00\n", "#SBATCH --cpus-per-task=4\n", "#SBATCH --mem=8G\n",
		"#SBATCH --gpus-per-task=1\n", "#SBATCH --signal=B:INT@60\n", `a b'c/ablate-eta-`, ` work '` + strings.ReplaceAll(out, "'", `'\''`), " --again\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	path, script, _ := strings.Cut(text, "\n")
	if b, err := os.ReadFile(path); err != nil || string(b) != script {
		t.Errorf("%s is not what was shown: %v", path, err)
	}
	if sh, err := exec.Command("/bin/sh", "-n", path).CombinedOutput(); err != nil {
		t.Errorf("the shell does not read it: %s", sh)
	}
}
