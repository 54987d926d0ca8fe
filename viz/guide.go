package viz

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// addGuides draws the figure's reference lines and names them in the legend.
func (p *panel) addGuides(th *theme, guides []Guide) {
	for i, g := range guides {
		style := draw.LineStyle{Color: th.mid, Width: 0.7 * th.Line}
		for _, d := range dashes[1+(i+1)%(len(dashes)-1)] {
			style.Dashes = append(style.Dashes, d*style.Width)
		}
		p.lines = append(p.lines, func(cv draw.Canvas, at func(x, y float64) vg.Point) {
			switch {
			case g.Vertical && p.x.inside(g.At):
				x := at(g.At, p.y.low).X
				cv.StrokeLine2(style, x, cv.Min.Y, x, cv.Max.Y)
			case !g.Vertical && p.y.inside(g.At):
				y := at(p.x.low, g.At).Y
				cv.StrokeLine2(style, cv.Min.X, y, cv.Max.X, y)
			}
		})
		if g.Label != "" {
			p.legend = append(p.legend, th.lineEntry(g.Label, style))
		}
	}
}
