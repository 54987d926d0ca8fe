package lab

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"github.com/kalmarz/kalmarz/viz"
)

// overAxis draws the results over the last axis: curves where its values are
// numbers, and else what each value changes beside the first one.
func (a *Ablation) overAxis() []namedFigure {
	values := a.Axes[len(a.Axes)-1].Values
	if len(values) < 2 || !slices.ContainsFunc(slices.Concat(a.Runs...), func(r *Record) bool { return r != nil && len(r.Evals) > 0 }) {
		return nil
	}
	if at := numbers(values); at != nil {
		return []namedFigure{{"curves", a.curves(at)}}
	}
	if len(a.lines()) > 8 { // bars that nobody could tell apart: the heat maps show them
		return nil
	}
	return []namedFigure{{"change", a.changes()}}
}

// numbers reads values that are all numbers above 0; else it returns nil.
func numbers(values []string) (out []float64) {
	for _, v := range values {
		x, err := strconv.ParseFloat(v, 64)
		if err != nil || !(x > 0) || math.IsInf(x, 0) {
			return nil
		}
		out = append(out, x)
	}
	return out
}

// scaleOf is the scale on which numbers lie well: logarithmic where they span a
// decade or double.
func scaleOf(at []float64) viz.Scale {
	double := true
	for _, x := range at {
		double = double && x == math.Trunc(x) && x < 1<<53 && bits.OnesCount64(uint64(x)) == 1
	}
	switch low, high := slices.Min(at), slices.Max(at); {
	case double:
		return viz.Log2
	case high >= 10*low:
		return viz.Log10
	}
	return viz.Linear
}

// curves have a line for each value of the other axes, over the numbers of the
// last: accuracy at the training length and the longest, and the test loss.
func (a *Ablation) curves(at []float64) *viz.Figure {
	last := a.Axes[len(a.Axes)-1]
	f := &viz.Figure{
		Kind: viz.Multiples, Title: fmt.Sprintf("%s: results over %s", a.title(), last.Name),
		X: viz.Axis{Label: last.Name, Unit: "1", Scale: scaleOf(at)},
	}
	for i, x := range at {
		f.X.Ticks = append(f.X.Ticks, viz.Tick{At: x, Label: last.Values[i]})
	}
	views := a.views()
	if v := views[0]; !v.text {
		v.loss = true
		views = append(views, v)
	}
	for _, v := range views {
		p := viz.Figure{Kind: viz.Lines, Title: v.String()}
		p.Y.Label, p.Y.Unit = v.quantity()
		if !v.loss && !v.text {
			p.Y.Min, p.Y.Max = -0.03, 1.03
			p.Guides = []viz.Guide{viz.Chance(a.Base.Task.Info().Chance)}
		}
		for _, l := range a.lines() {
			s := viz.Series{Name: l.label(a), X: at}
			if s.Name == "" {
				s.Name = a.Base.Word("mixer")
			}
			for _, r := range l.rows {
				s.Y = append(s.Y, v.of(a.Runs[r.cell]))
			}
			p.Series = append(p.Series, s)
		}
		f.Panels = append(f.Panels, p)
	}
	return f
}

// changes have a bar for each value of the last axis but the first: the test loss
// minus that of the first value, seed by seed. Runs of one seed have the same
// data, so that what the data do falls out of the difference.
func (a *Ablation) changes() *viz.Figure {
	last := a.Axes[len(a.Axes)-1]
	f := &viz.Figure{
		Kind:    viz.Bars,
		Title:   fmt.Sprintf("%s: change of the test loss from %s = %s", a.title(), last.Name, last.Values[0]),
		X:       viz.Axis{Label: last.Name, Unit: "1", Ticks: viz.Categories(last.Values[1:]...)},
		Y:       viz.Axis{Label: "change of loss", Unit: "nats per position"},
		Caption: "Below 0 is better. Differences of runs of the same seed, at the training length.",
	}
	v := a.views()[0]
	v.text, v.loss = false, true
	for _, l := range a.lines() {
		s := viz.Series{Name: l.label(a)}
		if s.Name == "" {
			s.Name = "test loss"
		}
		first := a.Runs[l.rows[0].cell]
		for i, r := range l.rows[1:] {
			var y []float64
			for k, run := range a.Runs[r.cell] {
				if run != nil && first[k] != nil {
					y = append(y, v.one(run)-v.one(first[k]))
				}
			}
			s.X, s.Y = append(s.X, float64(i)), append(s.Y, y)
		}
		f.Series = append(f.Series, s)
	}
	return f
}
