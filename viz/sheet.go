package viz

import (
	"fmt"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// sheet is a figure laid out: its width is the style's, its height follows
// from what has to be written, so nothing is clipped or covered.
type sheet struct {
	th            *theme
	panels        [][]*panel // rows of as many
	title         []string
	legend        []legendLine
	caption       []string
	frames        [][]frame
	plotW         vg.Length
	left, right   []vg.Length // by column
	top, bottom   []vg.Length // by row
	plotH         []vg.Length // by row
	width, height vg.Length
	margin, gap   vg.Length
	titleFace     face
	captionFace   face
}

func (f *Figure) layOut(th *theme) (*sheet, error) {
	if err := th.check(); err != nil {
		return nil, err
	}
	full, k, err := f.complete()
	if err != nil {
		return nil, err
	}
	s := &sheet{th: th, width: th.Width, margin: 0.6 * th.Font, gap: 0.8 * th.Font,
		titleFace: face{1.15 * th.Font, true}, captionFace: face{0.92 * th.Font, false}}
	var legend []entry
	var notes []string
	if f.Kind == Multiples {
		s.panels, legend, notes, err = full.multiples(th)
	} else {
		var p *panel
		if p, err = k.build(full, th); err == nil {
			s.panels, legend, notes = [][]*panel{{p}}, p.legend, p.notes
		}
	}
	if err != nil {
		return nil, fmt.Errorf("figure %q: %w", f.Title, err)
	}
	room := s.width - 2*s.margin
	s.title = th.wrap(s.titleFace, f.Title, room)
	s.legend = th.layLegend(legend, room)
	s.caption = th.wrap(s.captionFace, strings.Join(append([]string{f.Caption}, notes...), " "), room)
	return s, s.measure()
}

func (s *sheet) measure() error {
	th, rows, cols := s.th, len(s.panels), len(s.panels[0])
	s.left, s.right = make([]vg.Length, cols), make([]vg.Length, cols)
	s.top, s.bottom, s.plotH = make([]vg.Length, rows), make([]vg.Length, rows), make([]vg.Length, rows)
	s.frames = make([][]frame, rows)
	for r, row := range s.panels {
		s.frames[r] = make([]frame, cols)
		s.plotH[r] = th.Aspect * th.Width / vg.Length(max(1, 0.75*float64(cols)))
		for _, p := range row {
			if p != nil && p.height > 0 {
				s.plotH[r] = p.height
			}
		}
		for c, p := range row {
			if p != nil {
				s.frames[r][c] = p.frameY(th, s.plotH[r])
				s.left[c] = max(s.left[c], s.frames[r][c].left)
				s.right[c] = max(s.right[c], s.frames[r][c].right)
			}
		}
	}
	s.plotW = s.width - 2*s.margin - vg.Length(cols-1)*s.gap
	for c := range s.left {
		s.plotW -= s.left[c] + s.right[c]
	}
	s.plotW /= vg.Length(cols)
	if s.plotW < 4*th.Font {
		return fmt.Errorf("style %s: %g pt is too narrow for %d panel(s) with these labels: take a wider style", th.Name, th.Width.Points(), cols)
	}
	for r, row := range s.panels {
		for c, p := range row {
			if p != nil {
				s.frames[r][c].left, s.frames[r][c].right = s.left[c], s.right[c]
				p.frameX(th, &s.frames[r][c], s.plotW)
				s.top[r] = max(s.top[r], s.frames[r][c].top)
				s.bottom[r] = max(s.bottom[r], s.frames[r][c].bottom)
			}
		}
		s.height += s.top[r] + s.plotH[r] + s.bottom[r]
	}
	s.height += 2*s.margin + vg.Length(rows-1)*s.gap +
		vg.Length(len(s.title))*leading*s.titleFace.size + 0.3*th.Font +
		vg.Length(len(s.legend))*legendLeading*th.Font + 0.7*th.Font +
		vg.Length(len(s.caption))*leading*s.captionFace.size + 0.4*th.Font
	return nil
}

func (s *sheet) draw(cv vg.Canvas) {
	th := s.th
	c := draw.NewCanvas(cv, s.width, s.height)
	c.SetColor(th.back)
	c.Fill(c.Rectangle.Path())
	y := s.height - s.margin
	for _, l := range s.title {
		th.text(c, s.titleFace, th.ink, vg.Point{X: s.margin, Y: y - 0.9*s.titleFace.size}, 0, false, l)
		y -= leading * s.titleFace.size
	}
	y -= 0.3 * th.Font
	for r, row := range s.panels {
		y -= s.top[r]
		x := s.margin
		for col, p := range row {
			x += s.left[col]
			if p != nil {
				area := c
				area.Min, area.Max = vg.Point{X: x, Y: y - s.plotH[r]}, vg.Point{X: x + s.plotW, Y: y}
				p.draw(th, area, s.frames[r][col])
			}
			x += s.plotW + s.right[col] + s.gap
		}
		y -= s.plotH[r] + s.bottom[r]
		if r < len(s.panels)-1 {
			y -= s.gap
		}
	}
	y -= 0.5 * th.Font
	th.drawLegend(c, s.legend, vg.Point{X: s.margin, Y: y})
	y -= vg.Length(len(s.legend))*legendLeading*th.Font + 0.6*th.Font
	for _, l := range s.caption {
		y -= leading * s.captionFace.size
		th.text(c, s.captionFace, th.ink, vg.Point{X: s.margin, Y: y + 0.25*s.captionFace.size}, 0, false, l)
	}
}
