package viz

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// table is the panel that the kinds with cells share: named rows and columns,
// the first row at the top, each rowHeight font sizes high.
func (f *Figure) table(th *theme, rowHeight float64) *panel {
	g := f.Grid
	p := &panel{noGrid: true}
	p.x = axis{label: f.X.Label, scale: Linear, low: -0.5, high: float64(len(g.Cols)) - 0.5, given: Categories(g.Cols...)}
	p.y = axis{label: f.Y.Label, scale: Linear, low: -0.5, high: float64(len(g.Rows)) - 0.5}
	for _, a := range []struct {
		Axis
		*axis
	}{{f.X, &p.x}, {f.Y, &p.y}} {
		if a.Unit != "1" {
			a.axis.label += " (" + a.Unit + ")"
		}
	}
	names := slices.Clone(g.Rows)
	slices.Reverse(names)
	p.y.given = Categories(names...)
	p.height = min(max(vg.Length(float64(len(g.Rows))*rowHeight)*th.Font, 6*th.Font), 1.4*th.Width)
	return p
}

func (g *Grid) summaries() [][]Stat {
	out := make([][]Stat, len(g.Cells))
	for i, row := range g.Cells {
		out[i] = summarizeAll(row)
	}
	return out
}

// bounds is the range of the colours.
func (g *Grid) bounds(stats [][]Stat) (low, high float64, err error) {
	if g.Min != g.Max {
		return g.Min, g.Max, nil
	}
	low, high = math.Inf(1), math.Inf(-1)
	for _, row := range stats {
		for _, s := range row {
			if s.N > 0 {
				low, high = min(low, s.Mean), max(high, s.Mean)
			}
		}
	}
	switch {
	case low > high:
		low, high = 0, 1
	case g.Signed:
		high = max(math.Abs(low), math.Abs(high), 1e-12)
		low = -high
	case low == high:
		low, high = low-max(0.1*math.Abs(low), 1e-3), high+max(0.1*math.Abs(low), 1e-3)
	}
	if !finite(high - low) {
		return 0, 0, fmt.Errorf("grid: values from %g to %g reach too far to be drawn", low, high)
	}
	return low, high, nil
}

// fillCell paints one cell and returns its tone.
func (th *theme) fillCell(c draw.Canvas, at func(x, y float64) vg.Point, p *panel, col, row int, s Stat, colors colorMap, low, high float64) lab {
	x, y := float64(col), float64(row)
	r := vg.Rectangle{Min: at(x-0.5, y-0.5), Max: at(x+0.5, y+0.5)}
	if s.N > 0 {
		tone := colors.at((s.Mean - low) / (high - low))
		c.SetColor(tone.rgb())
		c.Fill(r.Path())
	} else {
		c.SetColor(th.faint)
		c.Fill(r.Path())
		c.Rectangle = r
		style := draw.LineStyle{Color: th.mid, Width: 0.05 * th.Font}
		w, h := r.Max.X-r.Min.X, r.Max.Y-r.Min.Y
		for d := -h; d < w; d += 0.45 * th.Font {
			c.StrokeLines(style, c.ClipLinesXY([]vg.Point{{X: r.Min.X + d, Y: r.Min.Y}, {X: r.Min.X + d + h, Y: r.Max.Y}})...)
		}
		if s.Lost > 0 {
			for d := -h; d < w; d += 0.45 * th.Font {
				c.StrokeLines(style, c.ClipLinesXY([]vg.Point{{X: r.Min.X + d, Y: r.Max.Y}, {X: r.Min.X + d + h, Y: r.Min.Y}})...)
			}
		}
	}
	if r.Max.X-r.Min.X > 1.2*th.Font { // narrow cells stand side by side without a rule
		c.SetLineStyle(draw.LineStyle{Color: th.back, Width: 0.1 * th.Font})
		c.Stroke(r.Path())
	}
	if s.N > 0 {
		return colors.at((s.Mean - low) / (high - low))
	}
	if th.Dark {
		return lab{l: 0.3}
	}
	return lab{l: 0.9}
}

// places writes v with as many decimals as suit the largest of its table.
func places(v, largest float64) string {
	if v == 0 {
		v = 0 // no minus sign
	}
	for i, limit := range []float64{1000, 100, 10, 0.1, 0.01} {
		if largest >= limit && i > 0 {
			return strings.ReplaceAll(strconv.FormatFloat(v, 'f', i-1, 64), "-", "−")
		} else if largest >= limit {
			break
		}
	}
	return number3(v)
}

// number3 is a short decimal for cells: three significant digits.
func number3(v float64) string {
	s := strconv.FormatFloat(v, 'g', 3, 64)
	if a := math.Abs(v); a >= 0.01 && a < 10 || v == 0 {
		s = strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strings.ReplaceAll(s, "-", "−")
}
