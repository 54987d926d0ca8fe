package lab

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// workerVar holds the orders of a process that a sweep started, as JSON.
const workerVar = "KALMARZ_WORKER"

// orders are what a sweep tells its processes.
type orders struct {
	Sweep   string   `json:"sweep"`
	First   int      `json:"first"`
	Command []string `json:"command"` // that began the sweep, for the records
}

// told is one line of a worker's standard output: what became of a run.
type told struct {
	Run   int    `json:"run"` // its place in the plan
	What  string `json:"what"`
	Step  int    `json:"step,omitempty"`
	Error string `json:"error,omitempty"`
}

// What a worker tells.
const (
	toldBegan = "began"
	toldStep  = "step"
	toldEnded = "ended"
	toldKept  = "kept"  // it was there already
	toldBusy  = "busy"  // another process has it
	toldTaken = "taken" // another process of this sweep has had it
)

// work takes runs of an ablation that nobody has, until none is left. Any number
// of processes, here and on hosts that share the folder, may do so at once.
func work(ctx context.Context, s *Session, args []string) (err error) {
	out, rest := s.folder(args)
	var again bool
	words, err := readFlags(rest, nil, map[string]*bool{"again": &again})
	if err != nil {
		return err
	}
	if len(words) != 1 {
		return errors.New("expected one ablation: work ABLATION")
	}
	a, err := openAblation(out, words[0])
	if err != nil {
		return err
	}
	a.Again = again
	unlock, err := shareFolder(a.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if _, err := s.open(); err != nil {
		return err
	}
	if text := os.Getenv(workerVar); text != "" {
		var o orders
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			return fmt.Errorf("%s: %w", workerVar, err)
		}
		return a.obey(ctx, s, o)
	}
	return a.volunteer(ctx, s)
}

// obey works for a sweep: it reports on standard output, and ends at a step's
// end when standard input does.
func (a *Ablation) obey(ctx context.Context, s *Session, o orders) error {
	signal.Ignore(os.Interrupt, syscall.SIGPIPE) // the sweep decides; if it is gone the input has ended
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	s.command = o.Command
	out := json.NewEncoder(s.Out)
	var last time.Time
	say := func(what string) func(planned) {
		return func(p planned) { out.Encode(told{Run: p.index, What: what}) }
	}
	a.takeAll(ctx, s, turns{sweep: o.Sweep, first: o.First}, watcher{
		begin: say(toldBegan), busy: say(toldBusy), taken: say(toldTaken),
		kept: func(p planned, _ *Record) { say(toldKept)(p) },
		step: func(p planned, n int, _ measured, _ float64) {
			if time.Since(last) > 100*time.Millisecond {
				last = time.Now()
				out.Encode(told{Run: p.index, What: toldStep, Step: n})
			}
		},
		end: func(p planned, _ *Record, err error) {
			t := told{Run: p.index, What: toldEnded}
			if err != nil {
				t.Error = err.Error()
			}
			out.Encode(t)
		},
	})
	return nil // a run that failed has been reported, and a stop was asked for
}

// volunteer works without a sweep that watches over it, as in a job of Slurm.
func (a *Ablation) volunteer(ctx context.Context, s *Session) error {
	ctx, cancel := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer cancel()
	s.anyDevice = true
	defer func() { s.anyDevice = false }()
	line := newProgressLine(s.Err, len(a.plan()), a.Base.Int("steps"))
	w := line.watch(s)
	w.kept = func(planned, *Record) { line.done++ } // by others
	err := a.takeAll(ctx, s, slurmTurns(), w)
	line.clear()
	if err != nil || ctx.Err() != nil {
		return fmt.Errorf("%w; what was recorded is in %s", cmp.Or(err, errStopped), a.Dir)
	}
	if err := a.read(); err != nil {
		return err
	}
	if left := a.Unfinished(); len(left) > 0 {
		_, err := fmt.Fprintf(s.Out, "%d of %d runs are complete; nothing else is left to take: sweep status %s\n", len(a.plan())-len(left), len(a.plan()), a.Dir)
		return err
	}
	a.Kept = 0 // what others ran meanwhile is of the same sweep
	if err := a.report(); err != nil {
		return err
	}
	return a.Print(s.Out)
}

// slurmTurns are those of a task of a job array: each begins elsewhere, and a
// job that Slurm starts again takes again what it had.
func slurmTurns() turns {
	t := turns{sweep: rand.Text()}
	if job := os.Getenv("SLURM_ARRAY_JOB_ID"); job != "" {
		t.sweep = fmt.Sprintf("slurm-%s-%s", job, os.Getenv("SLURM_RESTART_COUNT"))
		t.first, _ = strconv.Atoi(os.Getenv("SLURM_ARRAY_TASK_ID")) // Slurm's own number
	}
	return t
}
