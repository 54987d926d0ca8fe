package lab

import (
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"
)

// Auto is the number of processes that cores, devices and memory allow.
const Auto = -1

// crew is the processes of a sweep and what they told of its runs. They take
// runs from the shared folder by themselves; the crew watches, replaces those
// that end, and records why a run's process died.
type crew struct {
	a        *Ablation
	s        *Session
	orders   orders
	plan     []planned
	state    []runState
	places   []place // free ones
	auto     bool    // no number of workers was asked for
	members  []*member
	news     chan news
	line     *progressLine
	steps    []int           // of each run, the last that was told
	kept     map[int]bool    // runs that were there already
	said     map[string]bool // lines of the workers' standard errors
	peak     uint64          // the most memory that a worker had once one had trained
	measured uint64          // the most that one had
	idle     int             // workers in a row that did nothing
	fatal    error
}

type runState int

const (
	runWaits runState = iota
	runGoes
	runElsewhere // another process has it that is not the crew's
	runUnclear   // a worker had it, perhaps one that died before it could tell
	runDone
)

// member is one worker process.
type member struct {
	place  place
	cmd    *exec.Cmd
	stop   io.Closer // its standard input: it stops when that ends
	run    int       // -1: none
	useful bool      // it told of some run
	steps  bool      // it has trained, so that its memory is what a run takes
	last   string    // line of its standard error, or where it says why it dies
}

// news is what a member told, a line of its standard error, or its end.
type news struct {
	m    *member
	told *told
	line string
	end  *os.ProcessState
}

func (a *Ablation) runWorkers(ctx context.Context, s *Session) error {
	c := &crew{
		a: a, s: s, plan: a.plan(), news: make(chan news), said: map[string]bool{},
		orders: orders{Sweep: rand.Text(), Command: s.commandLine()[1:]},
	}
	c.state, c.steps, c.kept = make([]runState, len(c.plan)), make([]int, len(c.plan)), map[int]bool{}
	var err error
	if c.places, err = s.workPlaces(a.Jobs, len(c.plan)); err != nil {
		return err
	}
	c.auto = a.Jobs == Auto
	c.line = newProgressLine(s.Err, len(c.plan), a.Base.Int("steps"))
	defer c.line.clear()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for stopped := ctx.Done(); ; {
		if ctx.Err() == nil && c.fatal == nil {
			c.hire()
		}
		if len(c.members) == 0 && (ctx.Err() != nil || c.fatal != nil || !slices.ContainsFunc(c.state, func(r runState) bool { return r != runDone })) {
			break
		}
		select {
		case n := <-c.news:
			c.hear(n)
		case <-stopped:
			stopped = nil
			c.dismiss()
		case <-tick.C:
			c.look()
		}
	}
	a.Kept = len(c.kept)
	return c.fatal
}

// hire starts workers for runs that wait, while there are free places.
func (c *crew) hire() {
	for len(c.places) > 0 {
		free := c.count(runWaits) // runs that nobody is about to take
		for _, m := range c.members {
			if m.run < 0 {
				free--
			}
		}
		if free <= 0 || c.auto && !c.roomy() {
			return
		}
		if err := c.start(); err != nil {
			c.fail(err)
			return
		}
	}
}

func (c *crew) fail(err error) {
	c.fatal = cmp.Or(c.fatal, err)
	c.dismiss()
}

// dismiss asks all workers to stop at the end of their steps.
func (c *crew) dismiss() {
	for _, m := range c.members {
		m.stop.Close()
	}
}
