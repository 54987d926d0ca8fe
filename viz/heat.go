package viz

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// heat is a table of cells coloured by their mean, with the values printed
// where there is room. Cells that were not measured and cells whose runs all
// diverged are hatched and say which they are.
var heat = kind{name: Heat, grid: true, x: Axis{Scale: Linear}, y: Axis{Scale: Linear}, build: (*Figure).heat}

func (f *Figure) heat(th *theme) (*panel, error) {
	g := f.Grid
	p := f.table(th, 2.1)
	stats := g.summaries()
	low, high, err := g.bounds(stats)
	if err != nil {
		return nil, err
	}
	colors := rising
	if g.Signed {
		colors = twoSided
	}
	largest := 0.0
	for _, row := range stats {
		for _, s := range row {
			if s.N > 0 {
				largest = max(largest, math.Abs(s.Mean))
			}
		}
	}
	wide := ""
	for _, row := range stats {
		for _, s := range row {
			if t := s.cell(largest); th.width(th.small(), t) > th.width(th.small(), wide) {
				wide = t
			}
		}
	}
	p.bands = append(p.bands, func(c draw.Canvas, at func(x, y float64) vg.Point) {
		size := th.Font
		room := 0.94 * (at(1, 0).X - at(0, 0).X)
		if w := th.width(th.small(), wide); w > room {
			size *= room / w
		}
		for r, row := range stats {
			for i, s := range row {
				tone := th.fillCell(c, at, p, i, len(g.Rows)-1-r, s, colors, low, high)
				if size < 0.6*th.Font {
					continue // unreadable: the CSV holds the values
				}
				th.writeCell(c, face{size: size}, at(float64(i), float64(len(g.Rows)-1-r)), tone, s, s.cell(largest))
			}
		}
	})
	p.side = th.colorBar(g, colors, low, high, p.height)
	p.note(g.countNotes("Cell: mean", f.Samples, stats)...)
	return p, nil
}

// writeCell writes into a cell; hatching is cleared away behind the letters.
func (th *theme) writeCell(c draw.Canvas, f face, q vg.Point, tone lab, s Stat, text string) {
	ink := grey(0x10)
	if tone.l < 0.62 {
		ink = grey(0xff)
	}
	if s.N == 0 {
		half := vg.Point{X: 0.5*th.width(f, text) + 0.25*f.size, Y: 0.6 * f.size}
		c.SetColor(th.faint)
		c.Fill(vg.Rectangle{Min: q.Sub(half), Max: q.Add(half)}.Path())
	}
	q.Y -= 0.36 * f.size
	th.text(c, f, ink, q, 0.5, false, text)
}

// cell is what is written into a cell of a table with this largest magnitude.
func (s Stat) cell(largest float64) string {
	switch {
	case s.N > 0:
		return places(s.Mean, largest)
	case s.Lost > 0:
		return "div"
	}
	return "–"
}

// colorBar stands right of the plot area.
func (th *theme) colorBar(g *Grid, colors colorMap, low, high float64, height vg.Length) *side {
	f := th.small()
	scale := axis{scale: Linear, low: low, high: high}
	label := g.Label
	if g.Unit != "1" {
		label += " (" + g.Unit + ")"
	}
	lines := th.wrap(f, label, height)
	ticks := linearTicks(low, high, max(2, min(5, int(height/(2*f.size)))))
	var w vg.Length
	for _, t := range ticks {
		w = max(w, th.width(f, t.Label))
	}
	bar, gap := 1.1*f.size, 0.9*f.size
	return &side{width: gap + bar + 0.7*f.size + w + (vg.Length(len(lines))*leading+0.3)*f.size, draw: func(c draw.Canvas) {
		x := c.Min.X + gap
		const steps = 64
		h := (c.Max.Y - c.Min.Y) / steps
		for i := range steps {
			y := c.Min.Y + vg.Length(i)*h
			c.SetColor(colors.at((float64(i) + 0.5) / steps).rgb())
			c.Fill(vg.Rectangle{Min: vg.Point{X: x, Y: y}, Max: vg.Point{X: x + bar, Y: min(y+1.5*h, c.Max.Y)}}.Path())
		}
		for _, t := range ticks {
			y := c.Y(scale.at(t.At))
			c.StrokeLine2(draw.LineStyle{Color: th.mid, Width: 0.08 * f.size}, x+bar, y, x+bar+0.3*f.size, y)
			th.text(c, f, th.ink, vg.Point{X: x + bar + 0.5*f.size, Y: y - 0.36*f.size}, 0, false, t.Label)
		}
		for i, l := range lines {
			x := c.Max.X - (vg.Length(len(lines)-1-i)*leading+0.25)*f.size
			th.text(c, f, th.ink, vg.Point{X: x, Y: c.Center().Y}, 0.5, true, l)
		}
	}}
}

// countNotes say what a cell holds, of how many runs, and what is missing.
func (g *Grid) countNotes(mean, samples string, stats [][]Stat) []string {
	var measured []Stat
	half, empty, lost := 0.0, 0, 0
	for _, row := range stats {
		for _, s := range row {
			switch {
			case s.N == 0 && s.Lost == 0:
				empty++
				continue
			case s.N == 0:
				lost++
			}
			measured = append(measured, s)
			if finite(s.Half) {
				half = max(half, s.Half)
			}
		}
	}
	notes := countNotes(mean, "95 % Student-t half-widths up to "+number3(half), samples, []string{""}, [][]Stat{measured})
	if empty > 0 {
		notes = append(notes, fmt.Sprintf("Hatched: not measured (%d of %d cells).", empty, empty+len(measured)))
	}
	if lost > 0 {
		notes = append(notes, fmt.Sprintf("Crossed: every run diverged (%d of %d cells).", lost, empty+len(measured)))
	}
	return notes
}
