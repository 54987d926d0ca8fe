package viz

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Stat summarises the runs behind one value.
type Stat struct {
	N    int     // finite values
	Lost int     // NaN or infinite values: runs that diverged
	Mean float64 // of the finite values; NaN if there are none
	SD   float64 // sample standard deviation (N-1); NaN if N < 2
	Half float64 // half-width of the 95 % Student-t interval of the mean; NaN if N < 2
}

// Summarize counts, averages and bounds the values of one point.
func Summarize(values []float64) Stat {
	kept := slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return !finite(v) })
	s := Stat{N: len(kept), Lost: len(values) - len(kept), Mean: math.NaN(), SD: math.NaN(), Half: math.NaN()}
	if s.N == 0 {
		return s
	}
	// Sums and squares of very large values overflow, so these are scaled.
	scale := 1.0
	if largest := max(slices.Max(kept), -slices.Min(kept)); largest > 1e100 {
		scale = largest
		for i := range kept {
			kept[i] /= scale
		}
	}
	s.Mean = scale * stat.Mean(kept, nil)
	if s.N > 1 {
		s.SD = scale * stat.StdDev(kept, nil)
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(s.N - 1)}.Quantile(0.975)
		s.Half = t * s.SD / math.Sqrt(float64(s.N))
	}
	return s
}

// tally is how many runs stand behind the points of one series.
type tally struct {
	low, high, lost, of int
	uneven              bool // not as many were lost at every point
}

func (t tally) String() string {
	s := fmt.Sprintf("n = %d", t.low)
	if t.high > t.low {
		s = fmt.Sprintf("n = %d to %d", t.low, t.high)
	}
	switch {
	case t.lost > 0 && t.uneven:
		s += fmt.Sprintf(" (up to %d of %d diverged)", t.lost, t.of)
	case t.lost > 0:
		s += fmt.Sprintf(" (%d of %d diverged)", t.lost, t.of)
	}
	if t.high == 1 {
		s += ", no interval"
	}
	return s
}

func count(stats []Stat) tally {
	t := tally{low: math.MaxInt}
	for _, s := range stats {
		t.low, t.high = min(t.low, s.N), max(t.high, s.N)
		if s.Lost > t.lost {
			t.lost, t.of = s.Lost, s.N+s.Lost
		}
		t.uneven = t.uneven || s.Lost != stats[0].Lost
	}
	if len(stats) == 0 {
		t.low = 0
	}
	return t
}

// countNotes are the caption's sentences about the runs: what the mean is of
// and what the interval is, if there is one; then n, for each series where
// they differ.
func countNotes(mean, interval, samples string, names []string, stats [][]Stat) []string {
	var order []tally
	groups := map[tally][]string{}
	bounded := false
	for i, s := range stats {
		t := count(s)
		if _, seen := groups[t]; !seen {
			order = append(order, t)
		}
		groups[t] = append(groups[t], names[i])
		bounded = bounded || t.high > 1
	}
	if len(order) == 0 {
		return nil
	}
	text := mean + " over " + samples
	if bounded {
		text += "; " + interval
	}
	var parts []string
	for _, t := range order {
		part := t.String()
		if len(order) > 1 {
			part += ": " + strings.Join(groups[t], ", ")
		}
		parts = append(parts, part)
	}
	return []string{text + ".", strings.Join(parts, "; ") + "."}
}
