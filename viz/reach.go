package viz

import (
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// reach is the smallest and the largest depth that solved, of n runs that did
// not diverge: +Inf and NaN if none solved, NaN both if there is none.
func reach(values []float64) (best, worst float64, n int) {
	best, worst = math.NaN(), math.NaN()
	for _, d := range values {
		if math.IsNaN(d) {
			continue
		}
		n++
		if !(d >= best) {
			best = d
		}
		if finite(d) && !(d <= worst) {
			worst = d
		}
	}
	return best, worst, n
}

// addReach draws a translucent bar from each point up to its worst run.
func (p *panel) addReach(th *theme, l look, c curve) {
	style := draw.LineStyle{Color: th.veil(l.color, 0.4), Width: 2.6 * th.Line}
	p.bands = append(p.bands, func(cv draw.Canvas, at func(x, y float64) vg.Point) {
		for i := range c.x {
			if finite(p.x.at(c.x[i])) && c.high[i] > c.y[i] {
				a, b := at(c.x[i], c.y[i]), at(c.x[i], c.high[i])
				cv.StrokeLine2(style, a.X, a.Y, b.X, b.Y)
			}
		}
	})
}

// lifted adds what fill draws, moved up by some points.
func (p *panel) lifted(up vg.Length, fill func(q *panel)) {
	q := &panel{x: p.x, y: p.y}
	fill(q)
	move := func(layer []paint) (out []paint) {
		for _, draws := range layer {
			out = append(out, func(cv draw.Canvas, at func(x, y float64) vg.Point) {
				draws(cv, func(x, y float64) vg.Point { return at(x, y).Add(vg.Point{Y: up}) })
			})
		}
		return out
	}
	p.bands = append(p.bands, move(q.bands)...)
	p.lines = append(p.lines, move(q.lines)...)
	p.marks = append(p.marks, move(q.marks)...)
}
