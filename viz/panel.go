package viz

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// paint draws into the plot area; at turns data into its coordinates.
type paint func(c draw.Canvas, at func(x, y float64) vg.Point)

// panel is one pair of axes with what is drawn between them. All bands are
// drawn before all lines, and these before all marks, so that no series hides
// another's mean.
type panel struct {
	title               string
	x, y                axis
	bands, lines, marks []paint
	legend              []entry
	notes               []string
	message             string // written across an empty plot area
	noGrid, noGridX     bool
	height              vg.Length // of the plot area; 0: the style's
	side                *side
}

// side is what stands right of the plot area, such as a colour bar.
type side struct {
	width vg.Length
	draw  func(c draw.Canvas)
}

// draw draws the panel around the plot area c, whose frame has been measured.
func (p *panel) draw(th *theme, c draw.Canvas, fr frame) {
	at := func(x, y float64) vg.Point { return vg.Point{X: c.X(p.x.at(x)), Y: c.Y(p.y.at(y))} }
	if !p.noGrid {
		hair := draw.LineStyle{Color: th.faint, Width: 0.06 * th.Font}
		for _, t := range fr.xTicks {
			if x := c.X(p.x.at(t.At)); t.Label != "" && !p.noGridX {
				c.StrokeLine2(hair, x, c.Min.Y, x, c.Max.Y)
			}
		}
		for _, t := range fr.yTicks {
			if y := c.Y(p.y.at(t.At)); t.Label != "" {
				c.StrokeLine2(hair, c.Min.X, y, c.Max.X, y)
			}
		}
	}
	for _, layer := range [][]paint{p.bands, p.lines, p.marks} {
		for _, paint := range layer {
			paint(c, at)
		}
	}
	if p.message != "" {
		f := th.small()
		lines := th.wrap(f, p.message, c.Max.X-c.Min.X)
		for i, l := range lines {
			y := c.Center().Y + vg.Length(float64(len(lines))/2-float64(i)-0.8)*leading*f.size
			th.text(c, f, th.ink, vg.Point{X: c.Center().X, Y: y}, 0.5, false, l)
		}
	}
	p.drawAxes(th, c, fr)
}

func (p *panel) drawAxes(th *theme, c draw.Canvas, fr frame) {
	f := th.small()
	rule := draw.LineStyle{Color: th.mid, Width: 0.08 * f.size}
	c.StrokeLine2(rule, c.Min.X, c.Min.Y, c.Max.X, c.Min.Y)
	c.StrokeLine2(rule, c.Min.X, c.Min.Y, c.Min.X, c.Max.Y)
	long := func(t Tick) vg.Length {
		if t.Label == "" {
			return th.tick() / 2
		}
		return th.tick()
	}
	for _, t := range fr.xTicks {
		x := c.X(p.x.at(t.At))
		if !p.x.noTicks {
			c.StrokeLine2(rule, x, c.Min.Y, x, c.Min.Y-long(t))
		}
		y := c.Min.Y - th.tick() - 0.35*f.size
		switch {
		case p.x.bare:
		case p.x.turned:
			th.text(c, f, th.ink, vg.Point{X: x + 0.36*f.size, Y: y}, 1, true, t.Label)
		default:
			// A wide last label moves left rather than out of the figure.
			x = min(x, c.Max.X+fr.right-th.width(f, t.Label)/2)
			th.text(c, f, th.ink, vg.Point{X: x, Y: y - ascent*f.size}, 0.5, false, t.Label)
		}
	}
	for _, t := range fr.yTicks {
		y := c.Y(p.y.at(t.At))
		if !p.y.noTicks {
			c.StrokeLine2(rule, c.Min.X, y, c.Min.X-long(t), y)
		}
		if !p.y.bare {
			th.text(c, f, th.ink, vg.Point{X: c.Min.X - th.tick() - 0.3*f.size, Y: y - 0.36*f.size}, 1, false, t.Label)
		}
	}
	for i, l := range fr.xLabel {
		y := c.Min.Y - fr.bottom + descent*f.size + vg.Length(len(fr.xLabel)-1-i)*leading*f.size
		half := th.width(f, l) / 2
		x := max(min(c.Center().X, c.Max.X+fr.right-half), c.Min.X-fr.left+half)
		th.text(c, f, th.ink, vg.Point{X: x, Y: y}, 0.5, false, l)
	}
	for i, l := range fr.yLabel {
		x := c.Min.X - fr.left + (vg.Length(i)+0.9)*leading*f.size
		th.text(c, f, th.ink, vg.Point{X: x, Y: c.Center().Y}, 0.5, true, l)
	}
	if p.title != "" {
		th.text(c, face{f.size, true}, th.ink, vg.Point{X: c.Min.X, Y: c.Max.Y + 0.55*f.size}, 0, false, p.title)
	}
	if p.side != nil {
		area := c
		area.Min.X, area.Max.X = c.Max.X, c.Max.X+p.side.width
		p.side.draw(area)
	}
}
