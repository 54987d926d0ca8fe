package cell

import (
	"fmt"
	"html"
	"math"
	"strings"
	"time"

	"github.com/janpfeifer/gonb/gonbui"

	"github.com/kalmarz/kalmarz/viz"
)

// live is the block of a cell's output that shows training while it goes on: a
// curve for each cell of an ablation with a run a seed, where the run stands, and
// what the runs before gave. It is a lab.Viewer and takes the session's notes.
type live struct {
	d      display
	id     string // of the block; "" if nothing is trained
	series []*curve
	now    *curve
	run    string
	number int
	runs   int
	steps  int
	step   int
	loss   float64
	speed  float64
	notes  strings.Builder
	due    time.Time // before then nothing is drawn
}

// pace is the least time between two drawings; drawing takes a fifth of the
// time at most.
const pace = 400 * time.Millisecond

// Begin starts a run; the first of a command starts a block.
func (l *live) Begin(run string, number, runs, steps int) {
	if l.id != "" && run == l.run && number == l.number {
		return
	}
	if number == 1 && l.id != "" {
		l.end()
	}
	if l.id == "" {
		l.id = gonbui.UniqueID()
	}
	name, _, _ := strings.Cut(run, ", seed ")
	l.run, l.number, l.runs, l.steps, l.step = run, number, runs, steps, 0
	l.now = nil
	for _, c := range l.series {
		if c.name == name {
			l.now = c
		}
	}
	if l.now == nil {
		l.now = &curve{name: name}
		l.series = append(l.series, l.now)
	}
	l.now.runs = append(l.now.runs, nil)
}

// Step adds a step's loss and draws, not too often.
func (l *live) Step(step int, loss, tokensPerS float64) {
	at := len(l.now.runs) - 1
	if step <= len(l.now.runs[at]) { // the same run, of another command
		run, number, runs, steps := l.run, l.number, l.runs, l.steps
		l.end()
		l.Begin(run, number, runs, steps)
		at = 0
	}
	for len(l.now.runs[at]) < step-1 { // a run that goes on begins late
		l.now.runs[at] = append(l.now.runs[at], math.NaN())
	}
	l.now.runs[at] = append(l.now.runs[at], loss)
	l.step, l.loss, l.speed = step, loss, tokensPerS
	l.drawSoon()
}

// Write takes notes and what finished runs say.
func (l *live) Write(p []byte) (int, error) {
	l.notes.Write(p)
	if l.id != "" {
		l.drawSoon()
	}
	return len(p), nil
}

func (l *live) drawSoon() {
	if now := time.Now(); now.After(l.due) {
		l.draw()
		l.due = time.Now().Add(max(pace, 4*time.Since(now)))
	}
}

// end draws the block a last time and closes it.
func (l *live) end() {
	switch {
	case l.id != "":
		l.run = ""
		l.draw()
	case l.notes.Len() > 0:
		l.d.show(l.log(), l.notes.String())
	}
	*l = live{d: l.d}
}

func (l *live) draw() {
	var b strings.Builder
	if f := l.figure(); f != nil {
		if svg, err := f.SVG(viz.Notebook()); err == nil { // nothing to draw yet, or nothing that can be
			b.Write(svg[strings.Index(string(svg), "<svg"):])
		}
	}
	if l.run != "" && l.step > 0 {
		fmt.Fprintf(&b, `<div>run %d of %d: %s, step %d of %d, loss %.4f, %.3gk tokens/s</div>`,
			l.number, l.runs, html.EscapeString(l.run), l.step, l.steps, l.loss, l.speed/1000)
	}
	l.d.update(l.id, b.String()+l.log())
}

func (l *live) log() string {
	if l.notes.Len() == 0 {
		return ""
	}
	return `<pre style="font-size:85%;white-space:pre;overflow-x:auto">` + html.EscapeString(strings.TrimSpace(l.notes.String())) + "</pre>"
}
