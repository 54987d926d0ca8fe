package viz

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Preset is a figure as a paper has it: kind, axes, limits and the published
// values, as hollow markers that name their source. [Preset.Figure] adds values
// of one's own, whose series have the published names where they are of the
// same thing, such as the mixer gdn.
type Preset struct {
	Name       string
	Paper      string   // arXiv number
	Doc        string   // what X and Y of one's own series are
	Categories []string // what X counts from 0; none: X is a number

	frame Figure
	bound string            // names a published value that holds along the whole x axis
	fit   func(fig *Figure) // to the series that are there
}

// presets is the register: a new one joins with its line here.
func presets() []Preset {
	return []Preset{kaczmarzMQAR, kaczmarzPerplexity, kalmanA5, kalmanMAD, kalmanOU, routingLoss}
}

// Presets lists the figures of papers.
func Presets() []Preset { return presets() }

// PresetNamed finds a preset, or says which are known.
func PresetNamed(name string) (Preset, error) {
	var known []string
	for _, p := range presets() {
		if p.Name == name {
			return p, nil
		}
		known = append(known, p.Name)
	}
	return Preset{}, fmt.Errorf("unknown preset %q: known are %s", name, strings.Join(known, ", "))
}

// Figure places one's own series, if any, beside the published values. Accuracy
// is a fraction. A category without a value is left out.
func (p Preset) Figure(own ...Series) *Figure {
	f := p.frame
	f.Series = append(slices.Clone(own), p.published()...)
	for _, v := range Published(p.Name) {
		if v.At == "" {
			f.Guides = append(slices.Clone(f.Guides), Guide{Label: p.bound + " (" + v.Source + ")", At: v.value()})
		}
	}
	if len(p.Categories) > 0 {
		f.X.Ticks, f.Series = usedCategories(p.Categories, f.Series)
	}
	if p.fit != nil {
		p.fit(&f)
	}
	return &f
}

// published gathers the values that have a place on the x axis into series.
func (p Preset) published() (out []Series) {
	for _, v := range Published(p.Name) {
		if v.At == "" {
			continue
		}
		x := float64(slices.Index(p.Categories, v.At))
		if len(p.Categories) == 0 {
			x, _ = strconv.ParseFloat(v.At, 64) // the tests read every line
		}
		i := slices.IndexFunc(out, func(s Series) bool { return s.Name == v.Series && s.Source == v.Source })
		if i < 0 {
			i, out = len(out), append(out, Series{Name: v.Series, Source: v.Source})
		}
		out[i].X, out[i].Y = append(out[i].X, x), append(out[i].Y, []float64{v.value()})
	}
	return out
}

// usedCategories keeps those that hold a value and numbers them anew. A place
// that is no category stays where it is, for the kind to complain about.
func usedCategories(names []string, series []Series) ([]Tick, []Series) {
	number := make([]int, len(names))
	for _, s := range series {
		for i, x := range s.X {
			if k := int(x); float64(k) == x && k >= 0 && k < len(names) && i < len(s.Y) && len(s.Y[i]) > 0 {
				number[k] = 1
			}
		}
	}
	var kept []string
	for k := range names {
		if number[k] > 0 {
			number[k] = len(kept)
			kept = append(kept, names[k])
		}
	}
	out := slices.Clone(series)
	for i, s := range out {
		s.X, s.Y = nil, nil
		for j, x := range out[i].X {
			k := int(x)
			switch known := float64(k) == x && k >= 0 && k < len(names); {
			case known && j < len(out[i].Y) && len(out[i].Y[j]) == 0:
				continue
			case known:
				x = float64(number[k])
			}
			s.X = append(s.X, x)
			if j < len(out[i].Y) {
				s.Y = append(s.Y, out[i].Y[j])
			}
		}
		out[i] = s
	}
	return Categories(kept...), out
}

// multiplesOfLength names the lengths 1x, 2x, ... and reaches at least to most.
func multiplesOfLength(most float64) func(*Figure) {
	return func(f *Figure) {
		f.X.Ticks = nil
		low, high := 1.0, most
		var seen []float64
		for _, s := range f.Series {
			for _, x := range s.X {
				if x > 0 && finite(x) && !slices.Contains(seen, x) {
					seen = append(seen, x)
					low, high = min(low, x), max(high, x)
				}
			}
		}
		for x := 1.0; x <= most; x *= 2 {
			if !slices.Contains(seen, x) {
				seen = append(seen, x)
			}
		}
		slices.Sort(seen)
		for _, x := range seen {
			f.X.Ticks = append(f.X.Ticks, Tick{x, number(x) + "x"})
		}
		f.X.Min, f.X.Max = low/1.1, high*1.1
	}
}
