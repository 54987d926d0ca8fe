package viz

import (
	"fmt"
	"slices"
)

// panel i is a figure of its own that takes what it leaves empty from the
// whole: axes, guides, what n counts.
func (f *Figure) panel(i int) (*Figure, error) {
	p := f.Panels[i]
	if p.Kind == Multiples {
		return nil, fmt.Errorf("panel %d: panels cannot hold panels", i)
	}
	outer := func(a, b Axis) Axis {
		if b.Label == "-" {
			return a
		}
		if a.Ticks == nil {
			a.Ticks = b.Ticks
		}
		return a.or(b)
	}
	p.X, p.Y = outer(p.X, f.X), outer(p.Y, f.Y)
	p.Guides = append(slices.Clone(f.Guides), p.Guides...)
	if p.Samples == "" {
		p.Samples = f.Samples
	}
	full, _, err := p.complete()
	return full, err
}

// multiples lays panels out in rows. Panels of one kind whose axes have the
// same label and scale share their range, and only those at the left and at
// the bottom carry labels; a name looks the same in all panels.
func (f *Figure) multiples(th *theme) (rows [][]*panel, legend []entry, notes []string, err error) {
	n := len(f.Panels)
	if n == 0 {
		return nil, nil, nil, fmt.Errorf("no data: no panels")
	}
	if f.Columns < 0 || f.Columns > 12 {
		return nil, nil, nil, fmt.Errorf("%d columns: must be 1 to 12, or 0 for up to three", f.Columns)
	}
	cols := f.Columns
	if cols == 0 {
		cols = 3
	}
	cols = min(cols, n)
	var all []*panel
	for i := range f.Panels {
		full, err := f.panel(i)
		if err != nil {
			return nil, nil, nil, err
		}
		k, _ := find(full.Kind)
		p, err := k.build(full, th)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("panel %q: %w", full.Title, err)
		}
		p.title = full.Title
		all = append(all, p)
		for _, e := range p.legend {
			if !slices.ContainsFunc(legend, func(o entry) bool { return o.label == e.label }) {
				legend = append(legend, e)
			}
		}
	}
	slices.SortStableFunc(legend, func(a, b entry) int {
		switch {
		case a.guide == b.guide:
			return 0
		case b.guide:
			return -1
		}
		return 1
	})
	shareAxes(all, cols)
	for len(all)%cols != 0 {
		all = append(all, nil)
	}
	for i := 0; i < len(all); i += cols {
		rows = append(rows, all[i:i+cols])
	}
	return rows, legend, sharedNotes(all), nil
}

func shareAxes(all []*panel, cols int) {
	if unite(all, func(p *panel) *axis { return &p.x }) {
		for i, p := range all {
			if i+cols < len(all) {
				p.x.bare, p.x.label = true, ""
			}
		}
	}
	if unite(all, func(p *panel) *axis { return &p.y }) {
		for i, p := range all {
			if i%cols != 0 {
				p.y.bare, p.y.label = true, ""
			}
		}
	}
}

// unite gives all panels the range that covers each one's, if they can share.
func unite(all []*panel, of func(*panel) *axis) bool {
	first := *of(all[0])
	low, high := first.low, first.high
	for _, p := range all {
		a := of(p)
		if a.label != first.label || a.scale != first.scale || !slices.Equal(a.given, first.given) {
			return false
		}
		low, high = min(low, a.low), max(high, a.high)
	}
	for _, p := range all {
		of(p).low, of(p).high = low, high
	}
	return true
}

// sharedNotes writes what holds for all panels once, the rest by panel.
func sharedNotes(all []*panel) (notes []string) {
	all = slices.DeleteFunc(slices.Clone(all), func(p *panel) bool { return p == nil })
	common := func(note string) bool {
		return !slices.ContainsFunc(all, func(p *panel) bool { return !slices.Contains(p.notes, note) })
	}
	for _, p := range all {
		for _, note := range p.notes {
			switch {
			case !common(note):
				notes = append(notes, p.title+": "+note)
			case !slices.Contains(notes, note):
				notes = append(notes, note)
			}
		}
	}
	return notes
}
