package viz

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// okabeIto are the eight colours that stay apart for all common forms of
// colour blindness (Okabe and Ito, "Color Universal Design", 2002), ordered so
// that neighbours also differ in lightness. The last is the ink's own colour.
var okabeIto = []color.NRGBA{
	{0x00, 0x72, 0xb2, 0xff}, // blue
	{0xe6, 0x9f, 0x00, 0xff}, // orange
	{0x00, 0x9e, 0x73, 0xff}, // bluish green
	{0xd5, 0x5e, 0x00, 0xff}, // vermillion
	{0x56, 0xb4, 0xe9, 0xff}, // sky blue
	{0xcc, 0x79, 0xa7, 0xff}, // reddish purple
	{0x00, 0x00, 0x00, 0xff}, // ink
	{0xf0, 0xe4, 0x42, 0xff}, // yellow
}

// dashes in units of the line's width; together with the marker they tell
// lines apart where colours merge in grey.
var dashes = [][]vg.Length{
	nil, {5, 2}, {1.5, 1.5}, {7, 2, 1.5, 2}, {3, 1.5}, {9, 2}, {5, 1.5, 1.5, 1.5, 1.5, 1.5},
}

// look is how series i is drawn everywhere in a figure.
type look struct {
	color  color.NRGBA
	line   draw.LineStyle
	marker int
	hatch  int
}

func (th *theme) look(i int) look {
	c := okabeIto[i%len(okabeIto)]
	switch {
	case i%len(okabeIto) == 6:
		c = th.ink
	case i%len(okabeIto) == 7 && !th.Dark: // yellow is too light for a thin line on white
		c = color.NRGBA{0xb8, 0xa9, 0x00, 0xff}
	case i%len(okabeIto) == 0 && th.Dark:
		c = color.NRGBA{0x33, 0x99, 0xdd, 0xff}
	}
	line := draw.LineStyle{Color: c, Width: th.Line}
	for _, d := range dashes[i%len(dashes)] {
		line.Dashes = append(line.Dashes, d*th.Line)
	}
	return look{color: c, line: line, marker: i, hatch: i % 4}
}

// drawMarker draws the i-th shape around p, filled, or hollow with the
// background inside so that lines below do not run through it.
func (th *theme) drawMarker(c draw.Canvas, i int, col color.NRGBA, p vg.Point, hollow bool) {
	r := 1.9 * th.Line
	if hollow {
		r *= 1.35
	}
	path := markerPath(i%5, p, r)
	fill := col
	if hollow {
		fill = th.back
	}
	c.SetColor(fill)
	c.Fill(path)
	edge := th.back
	if hollow {
		edge = col
	}
	c.SetLineStyle(draw.LineStyle{Color: edge, Width: th.Line * 0.5})
	if hollow {
		c.SetLineWidth(th.Line * 0.8)
	}
	c.Stroke(path)
}

func markerPath(shape int, p vg.Point, r vg.Length) vg.Path {
	var path vg.Path
	if shape == 0 {
		path.Move(vg.Point{X: p.X + r, Y: p.Y})
		path.Arc(p, r, 0, 2*3.141592653589793)
		path.Close()
		return path
	}
	corners := [][][2]vg.Length{
		{{-.88, -.88}, {.88, -.88}, {.88, .88}, {-.88, .88}}, // square
		{{-1.05, -.8}, {1.05, -.8}, {0, 1.15}},               // triangle
		{{0, -1.3}, {1.1, 0}, {0, 1.3}, {-1.1, 0}},           // diamond
		{{-1.05, .8}, {1.05, .8}, {0, -1.15}},                // triangle, point down
	}[shape-1]
	for i, q := range corners {
		at := vg.Point{X: p.X + r*q[0], Y: p.Y + r*q[1]}
		if i == 0 {
			path.Move(at)
		} else {
			path.Line(at)
		}
	}
	path.Close()
	return path
}
