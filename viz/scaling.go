package viz

import (
	"math"

	"gonum.org/v1/plot/vg/draw"
)

// scaling is cost against size with both axes logarithmic, so that a power law
// is a straight line. Slopes draws guides y ∝ x^slope from the cheapest point
// at the smallest size; a curve that rises faster than a guide scales worse.
var scaling = kind{
	name:  Scaling,
	x:     Axis{Label: "sequence length", Unit: "tokens", Scale: Log2},
	y:     Axis{Label: "latency", Unit: "ms", Scale: Log10},
	build: (*Figure).scaling,
}

func (f *Figure) scaling(th *theme) (*panel, error) {
	p, err := f.means(th)
	if err != nil {
		return nil, err
	}
	x0, y0 := math.Inf(1), math.Inf(1)
	for _, s := range f.Series {
		for i, x := range s.X {
			y := Summarize(s.Y[i]).Mean
			if finite(y) && y > 0 && x > 0 && (x < x0 || x == x0 && y < y0) {
				x0, y0 = x, y
			}
		}
	}
	if !finite(y0) || p.x.scale < Log2 || p.y.scale < Log2 {
		return p, nil
	}
	for i, slope := range f.Slopes {
		end := y0 * math.Pow(p.x.high/x0, slope)
		if !finite(end) || end <= 0 {
			continue
		}
		style := draw.LineStyle{Color: th.mid, Width: 0.6 * th.Line}
		for _, d := range dashes[1+i%(len(dashes)-1)] {
			style.Dashes = append(style.Dashes, d*style.Width)
		}
		p.stroke(&p.bands, style, []float64{x0, p.x.high}, []float64{y0, end})
		p.legend = append(p.legend, th.lineEntry("slope "+number(slope), style))
	}
	return p, nil
}
