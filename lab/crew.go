package lab

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
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

func (c *crew) start() error {
	exe, err := executable()
	if err != nil {
		return err
	}
	m := &member{place: c.places[0], run: -1}
	m.cmd = exec.Command(exe, "work", c.a.Dir)
	m.cmd.Args[0] = os.Args[0]
	if c.s.Backend != "" {
		m.cmd.Args = append(m.cmd.Args, "backend="+c.s.Backend)
	}
	if c.a.Again {
		m.cmd.Args = append(m.cmd.Args, "--again")
	}
	order, err := json.Marshal(c.orders)
	c.orders.First++
	if err != nil {
		return err
	}
	m.cmd.Env = slices.Concat(os.Environ(), m.place.env, []string{workerVar + "=" + string(order)})
	in, err := m.cmd.StdinPipe()
	if err != nil {
		return err
	}
	m.stop = in
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	errs, err := m.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := c.s.children.start(m.cmd); err != nil {
		return fmt.Errorf("a worker cannot be started: %w", err)
	}
	c.places, c.members = c.places[1:], append(c.members, m)
	go c.listen(m, out, errs)
	return nil
}

// listen passes on what a worker writes, and then its end.
func (c *crew) listen(m *member, out, errs io.Reader) {
	var both sync.WaitGroup
	both.Go(func() {
		for d := json.NewDecoder(out); ; {
			t := &told{}
			if d.Decode(t) != nil || t.Run < 0 || t.Run >= len(c.plan) {
				io.Copy(io.Discard, out) // the rest is of no use, but its writer must not wait
				return
			}
			c.news <- news{m: m, told: t}
		}
	})
	both.Go(func() {
		r := bufio.NewReader(errs)
		for {
			line, err := r.ReadString('\n')
			if line = strings.TrimRight(line, "\r\n"); line != "" {
				c.news <- news{m: m, line: line}
			}
			if err != nil {
				return
			}
		}
	})
	both.Wait()
	m.cmd.Wait() // its state says how it ended
	c.s.children.ended(m.cmd)
	c.news <- news{m: m, end: m.cmd.ProcessState}
}

func (c *crew) hear(n news) {
	switch {
	case n.told != nil:
		n.m.useful = true
		if n.told.What != toldTaken {
			c.idle = 0
		}
		c.hearOf(n.m, n.told)
	case n.line != "":
		c.relay(n.m, n.line)
	default:
		c.part(n.m, n.end)
	}
}

// hearOf takes in what a worker told of a run. What several workers tell may
// come in another order than it happened: that one of them has or had the run
// outweighs what others saw of it.
func (c *crew) hearOf(m *member, t *told) {
	p := c.plan[t.Run]
	state := &c.state[t.Run]
	switch t.What {
	case toldBegan:
		delete(c.kept, t.Run)
		m.run, *state = t.Run, runGoes
	case toldStep:
		m.steps = true
		c.steps[t.Run] = t.Step
	case toldEnded:
		m.run, m.steps, *state = -1, true, runDone
		c.settle(p, t.Error)
	case toldKept:
		if *state == runWaits || *state == runElsewhere || *state == runUnclear {
			*state = runDone
			c.kept[t.Run] = true
			c.settle(p, "")
		}
	case toldBusy:
		if *state == runWaits {
			*state = runElsewhere
		}
	case toldTaken:
		if *state == runWaits || *state == runElsewhere {
			*state = runUnclear
		}
	}
}

// settle reads what a run came to and shows it.
func (c *crew) settle(p planned, problem string) {
	r, err := ReadRecord(p.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		problem = cmp.Or(problem, err.Error())
	}
	if r != nil && r.Status == Stopped {
		problem = "" // as it was asked to
	}
	if problem != "" {
		c.note(fmt.Sprintf("%s: %s", p.name, problem))
	}
	c.a.Runs[p.cell][p.k] = r
	c.line.done = c.count(runDone) - 1
	c.line.start(p.name)
	c.line.finish(r)
}

// relay shows a line that no worker has written before.
func (c *crew) relay(m *member, line string) {
	dying := strings.HasPrefix(m.last, "panic: ") || strings.HasPrefix(m.last, "fatal error: ")
	if dying {
		return // a stack follows, of no use to a user
	}
	m.last = line
	if !c.said[line] {
		c.said[line] = true
		c.note(line)
	}
}

func (c *crew) note(line string) {
	c.line.clear()
	c.s.note(line)
}

// part takes leave of a worker that ended. If it left a run its end is the
// run's.
func (c *crew) part(m *member, end *os.ProcessState) {
	c.members = slices.DeleteFunc(c.members, func(x *member) bool { return x == m })
	c.places = append(c.places, m.place)
	m.stop.Close()
	why := ending(end, m.last)
	switch {
	case m.run >= 0:
		p := c.plan[m.run]
		if err := c.a.recordCrash(c.s, p, why); err != nil {
			c.note(fmt.Sprintf("%s: %v", p.name, err))
		}
		c.state[m.run] = runDone
		c.settle(p, why)
	case !m.useful && end.ExitCode() > 0:
		c.fail(errors.New(cmp.Or(m.last, why)))
	default:
		if c.idle++; c.idle > 3+len(c.plan) {
			c.fail(fmt.Errorf("workers end before they work, the last: %s", why))
		}
	}
}

// look is done now and then: runs that others had may be free, and the line of
// progress is drawn.
func (c *crew) look() {
	for i, p := range c.plan {
		switch {
		case c.state[i] == runElsewhere && !locked(p.dir):
			c.state[i] = runWaits
		case c.state[i] == runUnclear && len(c.members) == 0:
			why := "its process died as it began"
			if err := c.a.recordCrash(c.s, p, why); err != nil {
				c.note(fmt.Sprintf("%s: %v", p.name, err))
			}
			c.state[i] = runDone
			c.settle(p, why)
		}
	}
	if n := c.count(runElsewhere); n > 0 && len(c.members) == 0 {
		c.relay(&member{}, fmt.Sprintf("waiting for %d runs that other processes have", n))
	}
	c.draw()
}

func (c *crew) count(which runState) (n int) {
	for _, s := range c.state {
		if s == which {
			n++
		}
	}
	return n
}
