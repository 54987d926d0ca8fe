package viz

import (
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// curve is a line through points, with the ends of its band where it has one
// (NaN where it has none).
type curve struct {
	x, y, low, high []float64
}

// sorted puts the points in rising order of x; equal x keep their order.
func (c curve) sorted() curve {
	order := make([]int, len(c.x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case c.x[a] < c.x[b]:
			return -1
		case c.x[a] > c.x[b]:
			return 1
		}
		return 0
	})
	pick := func(v []float64) []float64 {
		out := make([]float64, 0, len(v))
		for _, i := range order {
			if i < len(v) {
				out = append(out, v[i])
			}
		}
		return out
	}
	return curve{pick(c.x), pick(c.y), pick(c.low), pick(c.high)}
}

// stretches are the runs of consecutive drawable points [from, to).
func stretches(n int, drawable func(i int) bool) (out [][2]int) {
	for i := 0; i < n; i++ {
		from := i
		for i < n && drawable(i) {
			i++
		}
		if i > from {
			out = append(out, [2]int{from, i})
		}
	}
	return out
}

// addBand fills between low and high; a lone point gets a bar.
func (p *panel) addBand(th *theme, l look, c curve) {
	p.addArea(th, l, c, 0.22)
}

func (p *panel) addArea(th *theme, l look, c curve, opacity float64) {
	// The low end of an interval may lie where a logarithmic axis has no place.
	floor := func(v float64) float64 {
		if p.y.scale >= Log2 && v <= 0 {
			return p.y.low
		}
		return v
	}
	fill := th.veil(l.color, opacity)
	p.bands = append(p.bands, func(cv draw.Canvas, at func(x, y float64) vg.Point) {
		ok := func(i int) bool {
			return finite(c.low[i]) && finite(c.high[i]) && finite(p.x.at(c.x[i])) && finite(p.y.at(c.high[i]))
		}
		for _, s := range stretches(len(c.low), ok) {
			if s[1]-s[0] == 1 {
				q := at(c.x[s[0]], floor(c.low[s[0]]))
				r := at(c.x[s[0]], c.high[s[0]])
				for _, line := range cv.ClipLinesXY([]vg.Point{q, r}) {
					cv.StrokeLines(draw.LineStyle{Color: l.color, Width: th.Line * 0.8}, line)
				}
				continue
			}
			var pts []vg.Point
			for i := s[0]; i < s[1]; i++ {
				pts = append(pts, at(c.x[i], c.high[i]))
			}
			for i := s[1] - 1; i >= s[0]; i-- {
				pts = append(pts, at(c.x[i], floor(c.low[i])))
			}
			if pts = cv.ClipPolygonXY(pts); len(pts) > 2 {
				cv.FillPolygon(fill, pts)
			}
		}
	})
}

// stroke draws the line through the drawable points, broken at gaps.
func (p *panel) stroke(layer *[]paint, style draw.LineStyle, x, y []float64) {
	*layer = append(*layer, func(cv draw.Canvas, at func(x, y float64) vg.Point) {
		ok := func(i int) bool { return finite(p.x.at(x[i])) && finite(p.y.at(y[i])) }
		for _, s := range stretches(len(x), ok) {
			var pts []vg.Point
			for i := s[0]; i < s[1]; i++ {
				pts = append(pts, at(x[i], y[i]))
			}
			if len(pts) > 1 {
				cv.StrokeLines(style, cv.ClipLinesXY(pts)...)
			}
		}
	})
}

// addMarkers draws a mark at each drawable point.
func (p *panel) addMarkers(th *theme, l look, c curve, hollow bool) {
	p.marks = append(p.marks, func(cv draw.Canvas, at func(x, y float64) vg.Point) {
		for i := range c.x {
			if finite(c.y[i]) && p.x.inside(c.x[i]) && p.y.inside(c.y[i]) {
				th.drawMarker(cv, l.marker, l.color, at(c.x[i], c.y[i]), hollow)
			}
		}
	})
}

// underlay adds marks below those that are there: published values leave one's
// own points and whiskers in sight.
func (p *panel) underlay(fill func(q *panel)) {
	q := &panel{x: p.x, y: p.y}
	fill(q)
	p.marks = append(q.marks, p.marks...)
}

// addApart draws hollow marks of several series; one that would cover an
// earlier one moves aside, to the right or to the left.
func (p *panel) addApart(th *theme, looks []look, curves []curve) {
	p.marks = append(p.marks, func(cv draw.Canvas, at func(x, y float64) vg.Point) {
		size := 6 * th.Line
		var taken []vg.Point
		free := func(q vg.Point) bool {
			return q.X >= cv.Min.X+size/2 && q.X <= cv.Max.X && !slices.ContainsFunc(taken, func(o vg.Point) bool {
				return max(o.X-q.X, q.X-o.X) < 0.99*size && max(o.Y-q.Y, q.Y-o.Y) < 0.99*size
			})
		}
		for k, c := range curves {
			for i := range c.x {
				if !finite(c.y[i]) || !p.x.inside(c.x[i]) || !p.y.inside(c.y[i]) {
					continue
				}
				q := at(c.x[i], c.y[i])
				for step := range 2 * len(curves) { // 0, 1, -1, 2, -2, ...
					side := vg.Length((step+1)/2) * size
					if step%2 == 0 {
						side = -side
					}
					if aside := (vg.Point{X: q.X + side, Y: q.Y}); free(aside) {
						q = aside
						break
					}
				}
				taken = append(taken, q)
				th.drawMarker(cv, looks[k].marker, looks[k].color, q, true)
			}
		}
	})
}
