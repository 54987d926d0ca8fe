package viz

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
)

// depth is the smallest number of layers that solves each length. A value is
// one run's smallest depth, +Inf if no depth that was tried solved it, NaN if
// it diverged. A length counts as solved at the smallest depth at which any
// run solved it; a bar reaches up to the worst run that solved it at all.
// Y.Max is the largest depth that was tried.
var depth = kind{
	name:  Depth,
	x:     Axis{Label: "sequence length", Unit: "tokens", Scale: Linear},
	y:     Axis{Label: "smallest depth that solves it", Unit: "layers", Scale: Linear},
	build: (*Figure).depth,
}

func (f *Figure) depth(th *theme) (*panel, error) {
	deepest, err := f.deepest()
	if err != nil {
		return nil, err
	}
	above := deepest + 1 // the row of lengths that no depth solved
	y := f.Y
	y.Min, y.Max, y.Scale = 0.5, above+0.4, Linear
	if y.Ticks == nil && deepest <= 32 {
		for d := 1.0; d <= deepest; d++ {
			y.Ticks = append(y.Ticks, Tick{d, number(d)})
		}
		y.Ticks = append(y.Ticks, Tick{above, "none"})
	}
	p := &panel{}
	var xs []float64
	for _, s := range f.Series {
		xs = append(xs, s.X...)
	}
	if p.x, err = f.X.settle("x", xs); err != nil {
		return nil, err
	}
	if p.y, err = y.settle("y", nil); err != nil {
		return nil, err
	}
	runs, none := tally{low: math.MaxInt}, 0
	names := f.distinctNames()
	for _, s := range f.Series {
		l := th.look(th.id(s.Name))
		var solved, unsolved curve
		for j, values := range s.Y {
			best, worst, n := reach(values)
			if s.Source != "" {
				solved.x, solved.y = append(solved.x, s.X[j]), append(solved.y, best)
				continue
			}
			runs.low, runs.high = min(runs.low, n), max(runs.high, n)
			runs.lost, runs.of = runs.lost+len(values)-n, runs.of+len(values)
			if n > 0 && math.IsInf(best, 1) {
				unsolved.x, unsolved.y = append(unsolved.x, s.X[j]), append(unsolved.y, above)
				none++
			}
			solved.x, solved.y = append(solved.x, s.X[j]), append(solved.y, best)
			solved.high = append(solved.high, worst)
		}
		solved = solved.sorted()
		// Equal depths are common, so each series stands a little above the last.
		lift := 4.2 * th.Line * vg.Length(float64(slices.Index(names, s.Name))-float64(len(names)-1)/2)
		if s.Source != "" {
			p.lifted(lift, func(q *panel) { q.addMarkers(th, l, solved, true) })
			p.legend = append(p.legend, th.publishedEntry(s, l))
			continue
		}
		p.lifted(lift, func(q *panel) {
			q.addReach(th, l, solved)
			q.stroke(&q.lines, l.line, solved.x, solved.y)
			q.addMarkers(th, l, solved, false)
			q.addMarkers(th, l, unsolved, true)
		})
		p.legend = append(p.legend, th.seriesEntry(s.Name, l, false, true, true, false))
	}
	if runs.of > 0 && runs.high == 0 {
		p.message = "Every run diverged: there is no depth to draw."
	}
	p.addGuides(th, f.Guides)
	switch {
	case runs.of == 0: // published values only
	case runs.high > 1:
		p.note(fmt.Sprintf("Line: smallest depth at which any of the %s solved the length; bar: up to the worst that solved it.", f.Samples))
	default:
		p.note("Line: smallest depth that solved the length.")
	}
	if runs.of > 0 {
		p.note(runs.String() + ".")
	}
	if len(names) > 1 {
		p.note("Series stand slightly apart.")
	}
	p.unplaced(xs, nil)
	if none > 0 {
		p.note(fmt.Sprintf("Hollow, at “none”: no depth tried solved it (%d points).", none))
	}
	return p, nil
}

func (f *Figure) distinctNames() (names []string) {
	for _, s := range f.Series {
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// deepest is the largest depth that was tried, as far as is known.
func (f *Figure) deepest() (float64, error) {
	deepest := max(f.Y.Max, 1)
	for _, s := range f.Series {
		for i, values := range s.Y {
			for _, d := range values {
				if d < 1 {
					return 0, fmt.Errorf("series %q: depth %g at %g: must be at least 1, +Inf for unsolved, NaN for diverged", s.Name, d, s.X[i])
				}
				if finite(d) {
					deepest = max(deepest, d)
				}
			}
		}
	}
	return math.Ceil(deepest), nil
}
