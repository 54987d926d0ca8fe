package viz

import (
	"fmt"
	"math"
	"slices"
)

// spectrum is how the eigenvalues of the state's transition spread over
// training: for I − β k kᵀ the one that is not 1 is 1 − β‖k‖². Y[i] is a sample
// of them at step X[i]; the bands are quantiles of the sample, not intervals
// of a mean. Beyond the lines at ±1 the state grows without bound.
var spectrum = kind{
	name:  Spectrum,
	x:     Axis{Label: "training step", Unit: "1", Scale: Linear},
	y:     Axis{Label: "eigenvalue 1 − β‖k‖²", Unit: "1", Scale: Linear},
	build: (*Figure).spectrum,
}

func (f *Figure) spectrum(th *theme) (*panel, error) {
	if f.Y.Scale >= Log2 {
		return nil, fmt.Errorf("eigenvalues may be negative: a spectrum needs a linear y axis")
	}
	if err := f.unpublished(); err != nil {
		return nil, err
	}
	p := &panel{}
	var xs []float64
	ys := []float64{-1, 1}
	for _, s := range f.Series {
		xs = append(xs, s.X...)
		for _, v := range s.Y {
			ys = append(ys, quantiles(v, 0.05, 0.95)...)
		}
	}
	if err := p.settle(f, xs, ys); err != nil {
		return nil, err
	}
	var names []string
	var stats [][]Stat
	outside, total := 0, 0
	for _, s := range f.Series {
		l := th.look(th.id(s.Name))
		outer, inner := curve{x: s.X}, curve{x: s.X}
		for _, v := range s.Y {
			q := quantiles(v, 0.05, 0.25, 0.5, 0.75, 0.95)
			outer.low, outer.high = append(outer.low, q[0]), append(outer.high, q[4])
			inner.low, inner.high = append(inner.low, q[1]), append(inner.high, q[3])
			outer.y, inner.y = append(outer.y, q[2]), append(inner.y, q[2])
			for _, e := range v {
				if finite(e) {
					total++
					if math.Abs(e) > 1 {
						outside++
					}
				}
			}
		}
		p.addArea(th, l, outer.sorted(), 0.16)
		p.addArea(th, l, inner.sorted(), 0.28)
		o := outer.sorted()
		p.stroke(&p.lines, l.line, o.x, o.y)
		p.legend = append(p.legend, th.seriesEntry(s.Name, l, true, true, false, false))
		names, stats = append(names, s.Name), append(stats, summarizeAll(s.Y))
	}
	if total == 0 {
		p.message = "No finite eigenvalue: there is nothing to draw."
	}
	p.addGuides(th, append([]Guide{{Label: "stable within ±1", At: 1}}, f.Guides...))
	lower := len(p.legend)
	p.addGuides(th, []Guide{{At: -1}})
	p.legend = p.legend[:lower]
	samples := f.Samples
	if samples == "seeds" {
		samples = "sampled eigenvalues"
	}
	p.note(countNotes("Line: median", "bands: the middle 50 % and 90 % of the sample", samples, names, stats)...)
	p.unplaced(xs, nil)
	if total > 0 {
		p.note(fmt.Sprintf("Outside ±1: %s %% of %d.", number(100*float64(outside)/float64(total)), total))
	}
	return p, nil
}

// quantiles of the finite values, linear between neighbours; NaN if none.
func quantiles(values []float64, at ...float64) []float64 {
	v := slices.DeleteFunc(slices.Clone(values), func(x float64) bool { return !finite(x) })
	slices.Sort(v)
	out := make([]float64, len(at))
	for i, q := range at {
		if len(v) == 0 {
			out[i] = math.NaN()
			continue
		}
		h := q * float64(len(v)-1)
		j := min(int(h), max(len(v)-2, 0))
		out[i] = v[j]
		if j+1 < len(v) {
			out[i] += (h - float64(j)) * (v[j+1] - v[j])
		}
	}
	return out
}
