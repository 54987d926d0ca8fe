package viz

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// tokens shows quantities along a sequence: a column is a token, a row one
// quantity of one head, such as gain, uncertainty, residual or β‖k‖². Each row
// has its own colour scale, whose ends are printed at its right; a row's name
// carries its unit.
var tokens = kind{
	name: Tokens, grid: true,
	x:     Axis{Label: "token", Unit: "1", Scale: Linear},
	y:     Axis{Label: "quantity", Unit: "1", Scale: Linear},
	build: (*Figure).tokens,
}

func (f *Figure) tokens(th *theme) (*panel, error) {
	g := f.Grid
	p := f.table(th, 1.9)
	stats := g.summaries()
	small := face{size: 0.85 * th.Font}
	ranges := make([]string, len(stats))
	var width vg.Length
	for r, row := range stats {
		low, high, err := g.bounds([][]Stat{row})
		if err != nil {
			return nil, err
		}
		ranges[r] = number3(low) + " … " + number3(high)
		width = max(width, th.width(small, ranges[r]))
		p.bands = append(p.bands, func(c draw.Canvas, at func(x, y float64) vg.Point) {
			for i, s := range row {
				th.fillCell(c, at, p, i, len(stats)-1-r, s, rising, low, high)
			}
		})
	}
	p.side = &side{width: width + 0.6*th.Font, draw: func(c draw.Canvas) {
		for r := range ranges {
			y := c.Y(p.y.at(float64(len(ranges) - 1 - r)))
			th.text(c, small, th.ink, vg.Point{X: c.Min.X + 0.4*th.Font, Y: y - 0.36*small.size}, 0, false, ranges[r])
		}
	}}
	p.legend = append(p.legend, entry{label: "lowest to highest of the row, as printed at its right", sample: func(c draw.Canvas) {
		const steps = 24
		for i := range steps {
			r := c.Rectangle
			w := (c.Max.X - c.Min.X) / steps
			r.Min.X = c.Min.X + vg.Length(i)*w
			r.Max.X = min(r.Min.X+1.5*w, c.Max.X)
			c.SetColor(rising.at((float64(i) + 0.5) / steps).rgb())
			c.Fill(r.Path())
		}
	}})
	p.note(g.countNotes("Cell: mean", f.Samples, stats)...)
	return p, nil
}
