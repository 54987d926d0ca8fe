package viz

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// training is a curve over steps: every run faint as it was logged, and the
// mean of the smoothed runs with its interval. A run that diverged ends in a
// cross and counts neither for the mean nor for the axis' range: its last
// steps would hide the others.
var training = kind{
	name:  Training,
	x:     Axis{Label: "training step", Unit: "1", Scale: Linear},
	y:     Axis{Label: "training loss", Unit: "nats per token", Scale: Linear},
	build: (*Figure).training,
}

func (f *Figure) training(th *theme) (*panel, error) {
	if f.Smooth != 0 && !(f.Smooth >= 1 && f.Smooth <= 1e6) {
		return nil, fmt.Errorf("smooth = %g: must be 1 to 1e6 points, or 0 for a fiftieth of the curve", f.Smooth)
	}
	if err := f.unpublished(); err != nil {
		return nil, err
	}
	p := &panel{}
	var xs, all, calm, wild []float64
	memory := 1.0
	for _, s := range f.Series {
		xs = append(xs, s.X...)
		memory = max(memory, float64(len(s.X))/50)
		for _, r := range tracks(s) {
			all = append(all, r.y...)
			if r.diverged() {
				wild = append(wild, r.y...)
			} else {
				calm = append(calm, r.y...)
			}
		}
	}
	if f.Smooth > 0 {
		memory = f.Smooth
	}
	if len(calm) == 0 {
		calm = middle(wild)
	}
	if err := p.settle(f, xs, calm); err != nil {
		return nil, err
	}
	var names []string
	var stats [][]Stat
	drawn := 0
	for _, s := range f.Series {
		l := th.look(th.id(s.Name))
		faint := draw.LineStyle{Color: th.veil(l.color, 0.35), Width: 0.4 * th.Line}
		smooth := make([][]float64, len(s.X))
		for _, r := range tracks(s) {
			x, y := outline(r.x, r.y)
			p.stroke(&p.bands, faint, x, y)
			if r.diverged() {
				p.addCross(th, l, r)
			}
			for j, v := range smoothed(r.y, memory) {
				if r.diverged() {
					v = math.NaN()
				}
				smooth[r.at[j]] = append(smooth[r.at[j]], v)
			}
		}
		st := summarizeAll(smooth)
		for _, v := range st {
			drawn += v.N
		}
		c := intervals(s.X, st)
		p.addBand(th, l, c)
		p.stroke(&p.lines, l.line, c.x, c.y)
		names, stats = append(names, s.Name), append(stats, st)
		p.legend = append(p.legend, th.seriesEntry(s.Name, l, count(st).high > 1, true, false, false))
	}
	if drawn == 0 {
		p.message = "Every run diverged: there is no mean to draw."
	}
	p.addGuides(th, f.Guides)
	p.note(countNotes("Line: mean", tInterval, f.Samples, names, stats)...)
	if memory > 1 {
		p.note(fmt.Sprintf("Runs are smoothed exponentially over %s points; faint: as logged.", number(math.Round(memory*10)/10)))
	}
	p.unplaced(xs, all)
	if len(wild) > 0 {
		p.note("A cross ends a run that diverged; such runs are not in the mean.")
	}
	return p, nil
}

// addCross marks the end of a run that diverged, at the edge if it left the axes.
func (p *panel) addCross(th *theme, l look, t track) {
	last := slices.IndexFunc(t.y, func(v float64) bool { return !finite(v) }) - 1
	if last < 0 || !finite(p.x.at(t.x[last])) || !finite(p.y.at(t.y[last])) {
		return
	}
	p.marks = append(p.marks, func(cv draw.Canvas, at func(x, y float64) vg.Point) {
		q := at(t.x[last], min(max(t.y[last], p.y.low), p.y.high))
		r := 2 * th.Line
		style := draw.LineStyle{Color: l.color, Width: 0.9 * th.Line}
		cv.StrokeLine2(style, q.X-r, q.Y-r, q.X+r, q.Y+r)
		cv.StrokeLine2(style, q.X-r, q.Y+r, q.X+r, q.Y-r)
	})
}
