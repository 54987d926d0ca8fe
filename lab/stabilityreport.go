package lab

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/kalmarz/kalmarz/viz"
)

func stabilityTable(stacks []stack) *table {
	t := &table{header: []string{"layers", "noise", "seed", "loss", "largest |gradient|", "largest precision", ""}}
	n := func(v float64) string { return fmt.Sprintf("%.4g", v) }
	for _, c := range stacks {
		t.add(strconv.Itoa(c.layers), c.noise, strconv.FormatUint(c.seed, 10), n(c.loss()), n(c.gradNorm), n(c.precision), c.record.Reason)
	}
	return t
}

// stabilityFigure has a panel each for loss, gradients and precision.
func stabilityFigure(stacks []stack) *viz.Figure {
	f := &viz.Figure{Kind: viz.Multiples, Title: "stacks of Kalman layers", Columns: 3}
	for _, p := range []struct {
		label string
		scale viz.Scale
		value func(stack) float64
	}{
		{"training loss at the end", viz.Linear, stack.loss},
		{"largest gradient norm", viz.Log10, func(c stack) float64 { return c.gradNorm }},
		{"largest precision", viz.Log10, func(c stack) float64 { return c.precision }},
	} {
		panel := viz.Figure{Kind: viz.Lines, Title: p.label, X: viz.Axis{Label: "layers", Unit: "1", Scale: viz.Log2}, Y: viz.Axis{Label: p.label, Unit: "1", Scale: p.scale}}
		for _, noise := range []string{"ou", "none"} {
			series := viz.Series{Name: map[string]string{"ou": "OU process noise", "none": "no process noise"}[noise]}
			for _, c := range stacks {
				if c.noise != noise {
					continue
				}
				at := slices.Index(series.X, float64(c.layers))
				if at < 0 {
					at = len(series.X)
					series.X, series.Y = append(series.X, float64(c.layers)), append(series.Y, nil)
				}
				series.Y[at] = append(series.Y[at], p.value(c))
			}
			panel.Series = append(panel.Series, series)
		}
		f.Panels = append(f.Panels, panel)
	}
	return f
}
