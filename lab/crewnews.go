package lab

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

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
	for _, dying := range []string{"panic: ", "fatal error: ", "SIG"} {
		if strings.HasPrefix(m.last, dying) {
			return // a stack follows, of no use to a user
		}
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
