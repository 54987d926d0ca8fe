package viz

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// entry is one key of the legend, which stands below the axes and so never
// covers data. sample draws into a box of sampleWidth by one font size.
type entry struct {
	label  string
	sample func(c draw.Canvas)
	guide  bool // named after the series
}

func (th *theme) sampleWidth() vg.Length { return 2.8 * th.Font }

// lineEntry is the key of a line without band or marker.
func (th *theme) lineEntry(label string, style draw.LineStyle) entry {
	return entry{label: label, guide: true, sample: func(c draw.Canvas) {
		c.StrokeLine2(style, c.Min.X, c.Center().Y, c.Max.X, c.Center().Y)
	}}
}

// seriesEntry is the key of a series: its band, line and marker as drawn.
func (th *theme) seriesEntry(label string, l look, band, line, marker, hollow bool) entry {
	return entry{label: label, sample: func(c draw.Canvas) {
		if band {
			c.SetColor(th.veil(l.color, 0.22))
			c.Fill(c.Rectangle.Path())
		}
		if line {
			c.StrokeLine2(l.line, c.Min.X, c.Center().Y, c.Max.X, c.Center().Y)
		}
		if marker {
			th.drawMarker(c, l.marker, l.color, c.Center(), hollow)
		}
	}}
}

// publishedEntry is the key of published values, which names their source.
func (th *theme) publishedEntry(s Series, l look) entry {
	return th.seriesEntry(s.Name+", published ("+s.Source+")", l, false, false, true, true)
}

// legendLine is a row of keys; a label that is wider than the figure goes on
// in rows of its own without key.
type legendLine []struct {
	entry
	x vg.Length
}

func (th *theme) layLegend(entries []entry, room vg.Length) []legendLine {
	f := th.small()
	var lines []legendLine
	var line legendLine
	var x vg.Length
	flush := func() {
		if len(line) > 0 {
			lines = append(lines, line)
		}
		line, x = nil, 0
	}
	type key = struct {
		entry
		x vg.Length
	}
	for _, e := range entries {
		lead := th.sampleWidth() + 0.5*f.size
		w := lead + th.width(f, e.label)
		if x > 0 && x+w > room {
			flush()
		}
		if w <= room {
			line = append(line, key{e, x})
			x += w + 1.4*f.size
			continue
		}
		for i, part := range th.wrap(f, e.label, room-lead) {
			k := key{entry{label: part}, 0}
			if i == 0 {
				k.sample = e.sample
			}
			line = append(line, k)
			flush()
		}
	}
	flush()
	return lines
}

func (th *theme) drawLegend(c draw.Canvas, lines []legendLine, top vg.Point) {
	f := th.small()
	for i, line := range lines {
		base := top.Y - vg.Length(i+1)*legendLeading*f.size
		for _, k := range line {
			x := top.X + k.x
			if k.sample != nil {
				box := c
				box.Min = vg.Point{X: x, Y: base - 0.1*f.size}
				box.Max = vg.Point{X: x + th.sampleWidth(), Y: base + 0.8*f.size}
				k.sample(box)
			}
			th.text(c, f, th.ink, vg.Point{X: x + th.sampleWidth() + 0.5*f.size, Y: base}, 0, false, k.label)
		}
	}
}

const legendLeading = 1.35
