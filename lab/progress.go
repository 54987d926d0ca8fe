package lab

import (
	"fmt"
	"io"
	"time"
)

// progressLine shows where a set of runs stands: one line, redrawn on a
// terminal; elsewhere a line for each run that ends.
type progressLine struct {
	w        io.Writer
	live     bool
	viewer   Viewer // nil: nobody
	runs     int
	steps    int
	done     int
	name     string
	begun    time.Time
	lastDraw time.Time
}

func newProgressLine(w io.Writer, runs, steps int) *progressLine {
	p := &progressLine{w: w, live: terminal(w), runs: runs, steps: steps, begun: time.Now()}
	p.viewer, _ = w.(Viewer)
	return p
}

func (p *progressLine) start(name string) {
	p.name = name
	if p.viewer != nil {
		p.viewer.Begin(name, p.done+1, p.runs, p.steps)
	}
}

// step is told of every optimiser step.
func (p *progressLine) step(step int, m measured, tokensPerS float64) {
	if p.viewer != nil {
		p.viewer.Step(step, m.loss, tokensPerS)
	}
	if !p.live || time.Since(p.lastDraw) < 100*time.Millisecond {
		return
	}
	share := (float64(p.done) + float64(step)/float64(p.steps)) / float64(p.runs)
	p.draw(fmt.Sprintf("[%d/%d] %s  step %d/%d  loss %.4f  |g| %.2f  %s tokens/s  %s",
		p.done+1, p.runs, p.name, step, p.steps, m.loss, m.gradNorm, short(tokensPerS), timeLeft(p.begun, share)))
}

// timeLeft is how long the rest takes if it goes on as it did.
func timeLeft(begun time.Time, share float64) string {
	return fmt.Sprintf("%v left", time.Duration(float64(time.Since(begun))*(1-share)/share).Round(time.Second))
}

// draw puts a line in place of the one before.
func (p *progressLine) draw(line string) {
	p.lastDraw = time.Now()
	if r := []rune(line); len(r) >= columns(p.w) { // a line that wraps cannot be redrawn
		line = string(r[:columns(p.w)-1])
	}
	fmt.Fprint(p.w, "\r\x1b[K"+line)
}

// finish is told of every run that ends; nil means that it never began.
func (p *progressLine) finish(r *Record) {
	p.done++
	if r == nil {
		return
	}
	p.clear()
	fmt.Fprintf(p.w, "[%d/%d] %s  %s\n", p.done, p.runs, p.name, summary(r))
}

func (p *progressLine) clear() {
	if p.live {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// watch shows the runs of a plan one after another.
func (p *progressLine) watch(s *Session) watcher {
	finish := func(run planned, r *Record) {
		p.start(run.name)
		p.finish(r)
	}
	return watcher{
		begin: func(run planned) { p.start(run.name) },
		step:  func(_ planned, step int, m measured, tokensPerS float64) { p.step(step, m, tokensPerS) },
		kept:  finish,
		end: func(run planned, r *Record, err error) {
			if r != nil && r.Status == Stopped {
				return // the command's error says so
			}
			if err != nil {
				p.clear()
				s.note(fmt.Sprintf("%s: %v", run.name, err))
			}
			finish(run, r)
		},
	}
}

// summary is a run in a few words.
func summary(r *Record) string {
	if r.Status != Finished {
		return fmt.Sprintf("%s: %s", r.Status, r.Reason)
	}
	s := fmt.Sprintf("loss %.4f", float64(r.Final))
	for _, e := range r.Evals {
		switch {
		case e.Note != "" || e.Mode != r.Evals[0].Mode:
		case e.Tokens != "":
			s += fmt.Sprintf("  %dx %.3f bits/byte", e.Factor, float64(e.BitsPerByte))
		default:
			s += fmt.Sprintf("  %dx %.1f%%", e.Factor, 100*float64(e.Micro))
		}
	}
	return s + fmt.Sprintf("  %.1f s", r.Seconds)
}

// short prints a count with three digits: 1.23k, 45.6M.
func short(x float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if x >= unit.size {
			return fmt.Sprintf("%.3g%s", x/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%.3g", x)
}
