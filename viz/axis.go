package viz

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
)

// axis is an Axis with its range settled.
type axis struct {
	label     string // with the unit; empty: not written
	scale     Scale
	low, high float64
	given     []Tick
	bare      bool // no tick labels: a neighbouring panel carries them
	turned    bool // labels written upwards
	noTicks   bool
}

// settle takes the range from the values where the figure does not give one.
// Values that a logarithmic axis cannot show do not count.
func (a Axis) settle(name string, values []float64) (axis, error) {
	out := axis{label: a.Label, scale: a.Scale, low: a.Min, high: a.Max, given: slices.Clone(a.Ticks)}
	if a.Unit != "1" {
		out.label += " (" + a.Unit + ")"
	}
	if a.Min != a.Max {
		return out, nil
	}
	low, high, n := math.Inf(1), math.Inf(-1), 0
	for _, v := range values {
		if finite(v) {
			n++
		}
		if finite(v) && (a.Scale < Log2 || v > 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	log := a.Scale >= Log2
	switch {
	case low > high && log && n > 0:
		return out, fmt.Errorf("%s axis is logarithmic and none of its %d values is above 0", name, n)
	case low > high && log:
		low, high = 1, 10
	case low > high:
		low, high = 0, 1
	case low == high && log:
		low, high = low/2, high*2
	case low == high:
		d := max(0.1*math.Abs(low), 1e-3)
		low, high = low-d, high+d
	case log:
		d := math.Pow(high/low, 0.05)
		low, high = low/d, high*d
	default:
		d := 0.05 * (high - low)
		low, high = low-d, high+d
	}
	out.low, out.high = low, high
	if !finite(out.high-out.low) || !(out.high > out.low) || log && !(out.low > 0 && finite(out.high/out.low)) {
		return out, fmt.Errorf("%s axis: values from %g to %g reach too far to be drawn", name, low, high)
	}
	return out, nil
}

// at is the place of v along the axis, 0 to 1; NaN if it has no place for it. Places far outside are brought nearer, to where clipping
// still has digits to work with.
func (a *axis) at(v float64) float64 {
	const far = 1e6
	if math.IsInf(v, 0) {
		return math.NaN()
	}
	if a.scale < Log2 {
		return min(max((v-a.low)/(a.high-a.low), -far), far)
	}
	if v <= 0 {
		return math.NaN()
	}
	return min(max((math.Log(v)-math.Log(a.low))/math.Log(a.high/a.low), -far), far)
}

// inside says whether v lies on the axis, rounding aside.
func (a *axis) inside(v float64) bool { t := a.at(v); return t > -1e-6 && t < 1+1e-6 }

// ticks are those given, or suit a length with room for about n labels; extent
// is the room that one label needs.
func (a *axis) ticks(length vg.Length, n int, extent func(Tick) vg.Length) []Tick {
	ticks := slices.Clone(a.given)
	if ticks == nil {
		switch a.scale {
		case Log10:
			ticks = logTicks(a.low, a.high)
		case Log2:
			ticks = log2Ticks(a.low, a.high)
		default:
			ticks = linearTicks(a.low, a.high, n)
		}
	}
	ticks = slices.DeleteFunc(ticks, func(t Tick) bool { return !a.inside(t.At) })
	place := func(t Tick) float64 { return a.at(t.At) * float64(length) }
	return thin(ticks, place, func(t Tick) float64 { return float64(extent(t)) })
}
