package viz

import (
	"fmt"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// bars stand on 0, grouped by category: X holds the number of the category
// that X.Ticks names, from 0. Hatches tell series apart where colours merge in
// grey; the whisker is the interval. A bar whose runs all diverged is a
// cross on the baseline.
var bars = kind{
	name:  Bars,
	x:     Axis{Label: "-", Unit: "1", Scale: Linear},
	y:     Axis{Scale: Linear},
	build: (*Figure).bars,
}

func (f *Figure) bars(th *theme) (*panel, error) {
	n := len(f.X.Ticks)
	if n == 0 {
		return nil, fmt.Errorf("bars: X.Ticks must name the categories, as in Categories(\"a\", \"b\")")
	}
	if f.Y.Scale >= Log2 {
		return nil, fmt.Errorf("bars stand on 0, which a logarithmic axis does not have: use a linear axis or kind %s", Lines)
	}
	p := &panel{}
	ys := []float64{0}
	var measured, published []Series
	for _, s := range f.Series {
		for _, x := range s.X {
			if x != float64(int(x)) || x < 0 || int(x) >= n {
				return nil, fmt.Errorf("series %q: x = %g: must be the number of a category, 0 to %d", s.Name, x, n-1)
			}
		}
		c := intervals(s.X, summarizeAll(s.Y))
		ys = append(append(append(ys, c.y...), c.low...), c.high...)
		if s.Source == "" {
			measured = append(measured, s)
		} else {
			published = append(published, s)
		}
	}
	for _, g := range f.Guides {
		ys = append(ys, g.At)
	}
	if err := p.settle(f, []float64{0}, ys); err != nil {
		return nil, err
	}
	p.x.low, p.x.high, p.x.noTicks, p.noGridX = -0.5, float64(n)-0.5, true, true
	if f.X.Label == "-" {
		p.x.label = ""
	}
	// Published values stand at the bar of their name, or have a place of their own.
	slots := len(measured)
	slot := map[string]int{}
	for i, s := range measured {
		slot[s.Name] = i
	}
	for _, s := range published {
		if _, known := slot[s.Name]; !known {
			slot[s.Name] = slots
			slots++
		}
	}
	width := 0.8 / float64(max(1, slots))
	offset := func(slot int) float64 { return (float64(slot) - float64(slots-1)/2) * width }
	var names []string
	var stats [][]Stat
	drawn, lost := 0, 0
	for i, s := range measured {
		l := th.look(th.id(s.Name))
		st := summarizeAll(s.Y)
		for j, v := range st {
			drawn += min(v.N, 1)
			if v.N == 0 {
				lost++
			}
			p.addBar(th, l, s.X[j]+offset(i), 0.9*width, v)
		}
		names, stats = append(names, s.Name), append(stats, st)
		p.legend = append(p.legend, entry{label: s.Name, sample: func(c draw.Canvas) { th.fillHatched(c, l, c.Rectangle) }})
	}
	for _, s := range published {
		l := th.look(th.id(s.Name))
		c := intervals(s.X, summarizeAll(s.Y))
		c.x = append([]float64{}, c.x...)
		for j := range c.x {
			c.x[j] += offset(slot[s.Name])
			drawn += summarizeAll(s.Y)[j].N
		}
		p.underlay(func(q *panel) { q.addMarkers(th, l, c, true) })
		p.legend = append(p.legend, th.publishedEntry(s, l))
	}
	if drawn == 0 {
		p.message = "Every run diverged: there is no bar to draw."
	}
	p.addGuides(th, f.Guides)
	p.lines = append(p.lines, func(c draw.Canvas, at func(x, y float64) vg.Point) {
		y := at(0, 0).Y
		c.StrokeLine2(draw.LineStyle{Color: th.ink, Width: 0.5 * th.Line}, c.Min.X, y, c.Max.X, y)
	})
	p.note(countNotes("Bar: mean", "whisker: 95 % Student-t interval", f.Samples, names, stats)...)
	if lost > 0 {
		p.note(fmt.Sprintf("A cross stands for a bar without a finite value: %d.", lost))
	}
	return p, nil
}

func (p *panel) addBar(th *theme, l look, x, width float64, s Stat) {
	p.bands = append(p.bands, func(c draw.Canvas, at func(x, y float64) vg.Point) {
		if s.N == 0 {
			return
		}
		top := min(max(s.Mean, p.y.low), p.y.high)
		base := min(max(0, p.y.low), p.y.high)
		a, b := at(x-width/2, min(base, top)), at(x+width/2, max(base, top))
		th.fillHatched(c, l, vg.Rectangle{Min: a, Max: b})
	})
	p.marks = append(p.marks, func(c draw.Canvas, at func(x, y float64) vg.Point) {
		style := draw.LineStyle{Color: th.ink, Width: 0.65 * th.Line}
		cap := 1.6 * th.Line
		q := at(x, min(max(0, p.y.low), p.y.high))
		switch {
		case s.N == 0:
			style.Color = l.color
			q.Y += 2.5 * th.Line
			c.StrokeLine2(style, q.X-cap, q.Y-cap, q.X+cap, q.Y+cap)
			c.StrokeLine2(style, q.X-cap, q.Y+cap, q.X+cap, q.Y-cap)
		case finite(s.Half):
			low := at(x, max(s.Mean-s.Half, p.y.low)).Y
			high := at(x, min(s.Mean+s.Half, p.y.high)).Y
			c.StrokeLine2(style, q.X, low, q.X, high)
			c.StrokeLine2(style, q.X-cap, low, q.X+cap, low)
			c.StrokeLine2(style, q.X-cap, high, q.X+cap, high)
		}
	})
}

// fillHatched fills r in the series' colour, with strokes of its own direction.
func (th *theme) fillHatched(c draw.Canvas, l look, r vg.Rectangle) {
	c.Rectangle = r
	c.SetColor(th.blend(l.color, 0.75))
	c.Fill(r.Path())
	style := draw.LineStyle{Color: th.back, Width: 0.5 * th.Line}
	step := 3.2 * th.Line
	w, h := r.Max.X-r.Min.X, r.Max.Y-r.Min.Y
	for d := -h; d < w && l.hatch > 0; d += step {
		if l.hatch&1 != 0 {
			c.StrokeLines(style, c.ClipLinesXY([]vg.Point{{X: r.Min.X + d, Y: r.Min.Y}, {X: r.Min.X + d + h, Y: r.Max.Y}})...)
		}
		if l.hatch&2 != 0 {
			c.StrokeLines(style, c.ClipLinesXY([]vg.Point{{X: r.Min.X + d, Y: r.Max.Y}, {X: r.Min.X + d + h, Y: r.Min.Y}})...)
		}
	}
	c.SetLineStyle(draw.LineStyle{Color: l.color, Width: 0.6 * th.Line})
	c.Stroke(r.Path())
}
