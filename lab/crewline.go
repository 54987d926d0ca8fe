package lab

import (
	"fmt"
	"time"
)

// draw shows on a terminal how a sweep stands: how many runs are done, have
// failed and are running, and the time that is left if it goes on as it did.
func (c *crew) draw() {
	if !c.line.live || time.Since(c.line.lastDraw) < 100*time.Millisecond {
		return
	}
	done, failed, share := 0, 0, 0.0
	for i, p := range c.plan {
		switch r := c.a.Runs[p.cell][p.k]; c.state[i] {
		case runDone:
			done++
			if r == nil || !r.complete() {
				failed++
			}
			if !c.kept[i] {
				share++
			}
		case runGoes:
			share += float64(c.steps[i]) / float64(c.line.steps)
		}
	}
	text := fmt.Sprintf("[%d/%d] %d running", done, len(c.plan), c.count(runGoes))
	if n := c.count(runElsewhere); n > 0 {
		text += fmt.Sprintf(", %d with other processes", n)
	}
	if failed > 0 {
		text += fmt.Sprintf(", %d failed", failed)
	}
	if ours := len(c.plan) - len(c.kept); share > 0 && ours > 0 {
		text += "  " + timeLeft(c.line.begun, share/float64(ours))
	}
	c.line.draw(text)
}
