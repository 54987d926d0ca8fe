package viz

import (
	"fmt"
	"math"
)

// lines is the plain kind of an ablation: mean lines with intervals over any
// axis, which the figure names itself.
var lines = kind{name: Lines, x: Axis{Scale: Linear}, y: Axis{Scale: Linear}, build: (*Figure).means}

const tInterval = "band: 95 % Student-t interval"

// means draws each series as its mean with an interval; published values as
// hollow markers in the colour of the measured series of the same name.
func (f *Figure) means(th *theme) (*panel, error) {
	p := &panel{}
	var xs, ys []float64
	var names []string
	var stats [][]Stat
	curves := make([]curve, len(f.Series))
	for i, s := range f.Series {
		st := summarizeAll(s.Y)
		curves[i] = intervals(s.X, st)
		xs = append(xs, s.X...)
		ys = append(append(append(ys, curves[i].y...), curves[i].low...), curves[i].high...)
		if s.Source == "" {
			names, stats = append(names, s.Name), append(stats, st)
		}
	}
	for _, g := range f.Guides {
		if g.Vertical {
			xs = append(xs, g.At)
		} else {
			ys = append(ys, g.At)
		}
	}
	if err := p.settle(f, xs, ys); err != nil {
		return nil, err
	}
	var published []curve
	var looks []look
	dropped := 0
	drawn := 0
	for i, s := range f.Series {
		c := curves[i].sorted()
		l := th.look(th.id(s.Name))
		for j := range c.x {
			if finite(c.y[j]) {
				drawn++
				if !finite(p.x.at(c.x[j])) || !finite(p.y.at(c.y[j])) {
					dropped++
				}
			}
		}
		if s.Source != "" {
			published, looks = append(published, c), append(looks, l)
			p.legend = append(p.legend, th.publishedEntry(s, l))
			continue
		}
		few := len(c.x) <= 24
		p.addBand(th, l, c)
		p.stroke(&p.lines, l.line, c.x, c.y)
		if few {
			p.addMarkers(th, l, c, false)
		}
		p.legend = append(p.legend, th.seriesEntry(s.Name, l, count(summarizeAll(s.Y)).high > 1, true, few, false))
	}
	p.underlay(func(q *panel) { q.addApart(th, looks, published) })
	if drawn == 0 {
		p.message = "Every run diverged: there is no finite value to draw."
	}
	p.addGuides(th, f.Guides)
	p.note(countNotes("Line: mean", tInterval, f.Samples, names, stats)...)
	if dropped > 0 {
		p.note(fmt.Sprintf("Not drawn, at or below 0 on a logarithmic axis: %d of %d points.", dropped, drawn))
	}
	return p, nil
}

func (p *panel) note(texts ...string) { p.notes = append(p.notes, texts...) }

// unplaced says how many values a logarithmic axis has no place for.
func (p *panel) unplaced(xs, ys []float64) {
	for _, a := range []struct {
		name   string
		axis   *axis
		values []float64
	}{{"x", &p.x, xs}, {"y", &p.y, ys}} {
		n := 0
		for _, v := range a.values {
			if finite(v) && !finite(a.axis.at(v)) {
				n++
			}
		}
		if n > 0 {
			p.note(fmt.Sprintf("Not drawn, at or below 0 on the logarithmic %s axis: %d of %d values.", a.name, n, len(a.values)))
		}
	}
}

// settle fixes both axes.
func (p *panel) settle(f *Figure, xs, ys []float64) (err error) {
	if p.x, err = f.X.settle("x", xs); err == nil {
		p.y, err = f.Y.settle("y", ys)
	}
	return err
}

func summarizeAll(y [][]float64) []Stat {
	out := make([]Stat, len(y))
	for i, v := range y {
		out[i] = Summarize(v)
	}
	return out
}

// intervals is the mean with the ends of its interval.
func intervals(x []float64, stats []Stat) curve {
	c := curve{x: x}
	for _, s := range stats {
		half := s.Half
		if !finite(half) {
			half = math.NaN()
		}
		c.y = append(c.y, s.Mean)
		c.low = append(c.low, s.Mean-half)
		c.high = append(c.high, s.Mean+half)
	}
	return c
}
