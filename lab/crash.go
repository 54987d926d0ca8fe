package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// ending says in words how a process ended; last is what it wrote last.
func ending(end *os.ProcessState, last string) string {
	if w, ok := end.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		why := fmt.Sprintf("its process was ended by signal %d (%v)", w.Signal(), w.Signal())
		if w.Signal() == syscall.SIGKILL {
			why += ": somebody's, or the system's for want of memory"
		}
		return why
	}
	why := fmt.Sprintf("its process ended with status %d", end.ExitCode())
	if last != "" {
		why += ": " + last
	}
	return why
}

// recordCrash makes a run that its process left a failed one, which a later
// sweep goes on with. The name of this sweep stays on it, so that no other worker
// does.
func (a *Ablation) recordCrash(s *Session, p planned, why string) (err error) {
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return err
	}
	unlock, err := hold(p.dir)
	if errors.Is(err, errInUse) {
		return nil // somebody goes on with it
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	r, err := ReadRecord(p.dir)
	if errors.Is(err, os.ErrNotExist) {
		r = &Record{Config: p.e.Complete(), ConfigHash: configHash(p.e.complete), Seed: p.seed, Status: Running, Program: program(), Versions: versions(), Command: s.commandLine(), Started: time.Now()}
	} else if err != nil {
		return err
	}
	if r.Status != Running {
		return nil // it died between the end of the run and telling of it
	}
	r.Status, r.Reason = Failed, why
	if steps, err := recoverMetrics(filepath.Join(p.dir, "metrics.jsonl"), func(string) {}); err == nil {
		r.Step = len(steps)
	}
	return writeJSON(filepath.Join(p.dir, "run.json"), r)
}

// children are the processes that this one started and that must not outlive a
// user who leaves at once.
type children struct {
	mu  sync.Mutex
	all map[*exec.Cmd]bool
}

func (c *children) start(cmd *exec.Cmd) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[*exec.Cmd]bool{}
	}
	err := cmd.Start()
	c.all[cmd] = err == nil
	return err
}

func (c *children) ended(cmd *exec.Cmd) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, cmd)
}

func (c *children) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for cmd, started := range c.all {
		if started {
			cmd.Process.Kill()
		}
	}
}
