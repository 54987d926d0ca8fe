package viz

import (
	"fmt"
	"math"
)

func (f *Figure) checkAxes() error {
	for _, a := range []struct {
		name string
		Axis
	}{{"x", f.X}, {"y", f.Y}} {
		switch {
		case a.Label == "":
			return fmt.Errorf("%s axis: no label", a.name)
		case a.Unit == "":
			return fmt.Errorf("%s axis %q: no unit: give one, or \"1\" for a pure number", a.name, a.Label)
		case a.Scale > Log10:
			return fmt.Errorf("%s axis: unknown scale %d", a.name, a.Scale)
		case !finite(a.Min) || !finite(a.Max) || a.Min > a.Max:
			return fmt.Errorf("%s axis: range [%g, %g]: must be finite and rising", a.name, a.Min, a.Max)
		case a.Scale >= Log2 && a.Min != a.Max && a.Min <= 0:
			return fmt.Errorf("%s axis: range [%g, %g]: must be above 0 on a logarithmic axis", a.name, a.Min, a.Max)
		}
		for _, t := range a.Ticks {
			if !finite(t.At) {
				return fmt.Errorf("%s axis: tick %q at %g: must be finite", a.name, t.Label, t.At)
			}
		}
	}
	for _, g := range f.Guides {
		if !finite(g.At) {
			return fmt.Errorf("guide %q at %g: must be finite", g.Label, g.At)
		}
	}
	return nil
}

func (f *Figure) checkSeries() error {
	values := 0
	for i, s := range f.Series {
		if s.Name == "" {
			return fmt.Errorf("series %d: no name", i)
		}
		if len(s.X) != len(s.Y) {
			return fmt.Errorf("series %q: %d x values for %d y values: must be as many", s.Name, len(s.X), len(s.Y))
		}
		for j, x := range s.X {
			if !finite(x) {
				return fmt.Errorf("series %q: x[%d] = %g: must be finite", s.Name, j, x)
			}
			values += len(s.Y[j])
		}
	}
	if values == 0 {
		return fmt.Errorf("no data: %d series without a value", len(f.Series))
	}
	return nil
}

func (g *Grid) check(named bool) error {
	if g == nil || len(g.Rows) == 0 || len(g.Cols) == 0 {
		return fmt.Errorf("no data: the grid has no rows or no columns")
	}
	if !named && (g.Label == "" || g.Unit == "") {
		return fmt.Errorf("grid: label %q, unit %q: both are needed, unit \"1\" for a pure number", g.Label, g.Unit)
	}
	if len(g.Cells) != len(g.Rows) {
		return fmt.Errorf("grid: %d rows of cells for %d row names: must be as many", len(g.Cells), len(g.Rows))
	}
	values := 0
	for i, row := range g.Cells {
		if len(row) != len(g.Cols) {
			return fmt.Errorf("grid: row %q: %d cells for %d column names: must be as many", g.Rows[i], len(row), len(g.Cols))
		}
		for _, cell := range row {
			values += len(cell)
		}
	}
	if values == 0 {
		return fmt.Errorf("no data: all %d cells of the grid are empty", len(g.Rows)*len(g.Cols))
	}
	if !finite(g.Min) || !finite(g.Max) || g.Min > g.Max {
		return fmt.Errorf("grid: range [%g, %g]: must be finite and rising", g.Min, g.Max)
	}
	return nil
}

// unpublished refuses published values where a kind has no mark for them.
func (f *Figure) unpublished() error {
	for _, s := range f.Series {
		if s.Source != "" {
			return fmt.Errorf("series %q: kind %s cannot show published values: leave Source empty", s.Name, f.Kind)
		}
	}
	return nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
