package lab

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/kalmarz/kalmarz/viz"
)

type namedFigure struct {
	name   string
	figure *viz.Figure
}

// figures are accuracy against length, one for each mode, and training curves; of
// a grid a panel for each of its lines, and heat maps; and the results over the
// last axis.
func (a *Ablation) figures() []namedFigure {
	var out []namedFigure
	for _, mode := range a.modes() {
		f := a.panels(viz.Figure{
			Kind:   viz.Length,
			Title:  fmt.Sprintf("%s: accuracy against length (%s)", a.title(), mode),
			X:      viz.Axis{Label: "test length / training length", Unit: "1", Scale: viz.Log2},
			Y:      viz.Axis{Label: "accuracy at scored positions", Unit: "1", Min: 0, Max: 1},
			Guides: []viz.Guide{viz.Chance(a.Base.Task.Info().Chance)},
		}, func(cell int) (s viz.Series) {
			for _, x := range a.factors(mode) {
				s.X, s.Y = append(s.X, float64(x)), append(s.Y, a.accuracies(cell, mode, x))
			}
			return s
		})
		for _, x := range a.factors(mode) {
			f.X.Ticks = append(f.X.Ticks, viz.Tick{At: float64(x), Label: fmt.Sprintf("%dx", x)})
		}
		out = append(out, namedFigure{"accuracy" + a.suffix(mode), f})
	}
	out = append(out, namedFigure{"training", a.panels(viz.Figure{
		Kind:  viz.Training,
		Title: fmt.Sprintf("%s: training loss", a.title()),
		X:     viz.Axis{Label: "step", Unit: "1"},
		Y:     viz.Axis{Label: "cross-entropy", Unit: "nats"},
	}, a.lossCurves)})
	return append(append(out, a.heatMaps()...), a.overAxis()...)
}

// suffix parts the figures of a mode from those of the first.
func (a *Ablation) suffix(mode string) string {
	if mode == a.modes()[0] {
		return ""
	}
	return "-" + mode
}

// panels draws a series a row into a figure, or of a grid into panels of it.
func (a *Ablation) panels(f viz.Figure, series func(cell int) viz.Series) *viz.Figure {
	named := func(r row) viz.Series {
		s, last := series(r.cell), len(a.Axes)-1
		s.Name = a.Axes[last].Name + " = " + r.values[last]
		return s
	}
	if len(a.Axes) == 1 {
		for _, r := range a.rows() {
			f.Series = append(f.Series, named(r))
		}
		return &f
	}
	for _, l := range a.lines() {
		p := viz.Figure{Kind: f.Kind, Title: l.label(a)}
		for _, r := range l.rows {
			p.Series = append(p.Series, named(r))
		}
		f.Panels = append(f.Panels, p)
	}
	f.Kind = viz.Multiples
	return &f
}

// lossCurves has a value a run at each step; a step that a run did not get to
// counts as lost.
func (a *Ablation) lossCurves(cell int) (s viz.Series) {
	for k, r := range a.Runs[cell] {
		if r == nil {
			continue
		}
		metrics, err := ReadMetrics(filepath.Join(a.cellDir(cell, a.Cells[cell].Int("seed")+k), "metrics.jsonl"))
		if err != nil {
			continue // the run failed before its first step; the table says so
		}
		for j := range a.Cells[cell].Int("steps") {
			if len(s.X) <= j {
				s.X, s.Y = append(s.X, float64(j+1)), append(s.Y, nil)
			}
			loss := math.NaN()
			if j < len(metrics) {
				loss = float64(metrics[j].Loss)
			}
			s.Y[j] = append(s.Y[j], loss)
		}
	}
	return s
}

// heatMaps draw what matrices print. One without a single value is left out.
func (a *Ablation) heatMaps() (out []namedFigure) {
	if len(a.Axes) < 2 {
		return nil
	}
	last := a.Axes[len(a.Axes)-1]
	for i, v := range a.views() {
		g := &viz.Grid{Cols: last.Values}
		g.Label, g.Unit = v.quantity()
		measured := false
		for _, l := range a.lines() {
			g.Rows = append(g.Rows, strings.Join(l.values, ", "))
			var line [][]float64
			for _, r := range l.rows {
				values := v.of(a.Runs[r.cell])
				line, measured = append(line, values), measured || len(values) > 0
			}
			g.Cells = append(g.Cells, line)
		}
		if !measured {
			continue
		}
		name := "heat"
		if i > 0 {
			name = fmt.Sprintf("heat-%dx%s", v.factor, a.suffix(v.mode))
		}
		out = append(out, namedFigure{name, &viz.Figure{
			Kind: viz.Heat, Title: fmt.Sprintf("%s: %s", a.title(), v), Grid: g,
			X: viz.Axis{Label: last.Name, Unit: "1"}, Y: viz.Axis{Label: a.outer(), Unit: "1"},
		}})
	}
	return out
}
