package viz

import "gonum.org/v1/plot/vg"

// frame is the room that a panel's labels need around its plot area.
type frame struct {
	left, right, top, bottom vg.Length
	xTicks, yTicks           []Tick
	xLabel, yLabel           []string
}

func (th *theme) small() face { return face{size: th.Font} }
func (th *theme) tick() vg.Length {
	return 0.35 * th.Font
}

// frameY measures what does not depend on the plot area's width.
func (p *panel) frameY(th *theme, height vg.Length) frame {
	f := th.small()
	fr := frame{right: 1.5 * f.size, top: 0.5 * f.size}
	n := min(max(int(height/(2.4*f.size)), 2), 8)
	fr.yTicks = p.y.ticks(height, n, func(Tick) vg.Length { return 1.05 * f.size })
	fr.left = th.tick() + 0.3*f.size
	if !p.y.bare {
		var w vg.Length
		for _, t := range fr.yTicks {
			w = max(w, th.width(f, t.Label))
		}
		fr.left += w
	}
	if p.y.label != "" {
		fr.yLabel = th.wrap(f, p.y.label, height)
		fr.left += vg.Length(len(fr.yLabel))*leading*f.size + 0.5*f.size
	}
	if p.title != "" {
		fr.top += leading * f.size
	}
	if p.side != nil {
		fr.right = p.side.width
	}
	return fr
}

// frameX completes the frame once the width of the plot area is known.
func (p *panel) frameX(th *theme, fr *frame, width vg.Length) {
	f := th.small()
	across := func(t Tick) vg.Length { return th.width(f, t.Label) + 0.7*f.size }
	upward := func(Tick) vg.Length { return 1.05 * f.size }
	n := min(max(int(width/(5*f.size)), 2), 8)
	fr.xTicks = p.x.ticks(width, n, across)
	if named(fr.xTicks) < named(p.x.given) {
		p.x.turned = true
		fr.xTicks = p.x.ticks(width, n, upward)
	}
	fr.bottom = th.tick()
	if !p.x.bare {
		h := ascent * f.size
		for _, t := range fr.xTicks {
			if p.x.turned {
				h = max(h, th.width(f, t.Label))
			}
		}
		fr.bottom += 0.35*f.size + h
	}
	if p.x.label != "" {
		fr.xLabel = th.wrap(f, p.x.label, width+fr.right+fr.left/2)
		fr.bottom += vg.Length(len(fr.xLabel))*leading*f.size + 0.35*f.size
	}
}

func named(ticks []Tick) (n int) {
	for _, t := range ticks {
		if t.Label != "" {
			n++
		}
	}
	return n
}
