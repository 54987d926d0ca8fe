package lab

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
)

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
