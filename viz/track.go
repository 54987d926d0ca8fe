package viz

import "slices"

// track is one run: its values, and which points of the series they belong to.
type track struct {
	at   []int
	x, y []float64
}

func (t track) diverged() bool {
	return slices.ContainsFunc(t.y, func(v float64) bool { return !finite(v) })
}

func tracks(s Series) []track {
	n := 0
	for _, v := range s.Y {
		n = max(n, len(v))
	}
	out := make([]track, n)
	for i, values := range s.Y {
		for r, v := range values {
			out[r].at = append(out[r].at, i)
			out[r].x = append(out[r].x, s.X[i])
			out[r].y = append(out[r].y, v)
		}
	}
	return out
}

// smoothed is the exponential average with the start's bias taken out, so that
// its first value is the first value. It ends where the run does.
func smoothed(y []float64, memory float64) []float64 {
	keep := max(0, 1-1/memory)
	out := make([]float64, len(y))
	sum, weight := 0.0, 0.0
	for i, v := range y {
		sum, weight = keep*sum+(1-keep)*v, keep*weight+(1-keep)
		out[i] = sum / weight
	}
	return out
}

// outline keeps the lowest and the highest of each stretch of a long run: it
// looks the same and stays small in a file.
func outline(x, y []float64) (ox, oy []float64) {
	const most = 400
	if len(y) <= 2*most {
		return x, y
	}
	for b := range most {
		from, to := b*len(y)/most, (b+1)*len(y)/most
		low, high, end := from, from, -1
		for i := from; i < to; i++ {
			switch {
			case !finite(y[i]):
				end = i
			case !finite(y[low]) || y[i] < y[low]:
				low = i
			}
			if finite(y[i]) && (!finite(y[high]) || y[i] > y[high]) {
				high = i
			}
		}
		keep := []int{min(low, high), max(low, high)}
		if end >= 0 {
			keep = append(keep, end) // the gap stays a gap
		}
		for _, i := range keep {
			ox, oy = append(ox, x[i]), append(oy, y[i])
		}
	}
	return ox, oy
}

// middle is the values without their extremes: the last steps before a
// divergence would leave nothing else to see.
func middle(y []float64) []float64 {
	kept := slices.DeleteFunc(slices.Clone(y), func(v float64) bool { return !finite(v) })
	slices.Sort(kept)
	return kept[len(kept)/20 : len(kept)-len(kept)/20]
}
