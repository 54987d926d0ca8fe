package lab

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kalmarz/kalmarz/viz"
)

// ofLength is a number of a task's evaluations against length, a figure for each
// way in which rows were lengthened.
func ofLength(task string, number func(Evaluation) Number) presetSeries {
	return func(_ viz.Preset, runs []*Record) (out []presetData, err error) {
		runs = having(runs, "task", task)
		names := seriesNames(runs, byKey("mixer"), func(*Record) string { return "" })
		factors, modes := lengthsOf(runs)
		if len(runs) > 0 && len(modes) == 0 {
			return nil, errors.New("these were tested at their training length alone")
		}
		for i, mode := range modes {
			values := pile{}
			for k, r := range runs {
				for _, f := range factors[mode] {
					if r.Status == Diverged {
						values.put(names[k], float64(f), r.Seed, math.NaN())
					}
				}
				for _, e := range r.Evals {
					if e.Mode == mode && e.Note == "" && r.Status == Finished {
						values.put(names[k], float64(e.Factor), r.Seed, float64(number(e)))
					}
				}
			}
			d := presetData{note: settings(runs), series: values.series(names)}
			if mode != "" {
				d.note += " Rows lengthened as " + mode + "."
			}
			if i > 0 {
				d.suffix = "-" + mode
			}
			out = append(out, d)
		}
		return out, nil
	}
}

// lengthsOf are the ways in which rows were lengthened and gave numbers, with
// the lengths; where every run diverged, what was to be tested.
func lengthsOf(runs []*Record) (factors map[string][]int, modes []string) {
	factors = map[string][]int{}
	add := func(mode string, f int) {
		if f > 1 && !slices.Contains(modes, mode) {
			modes = append(modes, mode)
		}
		if !slices.Contains(factors[mode], f) {
			factors[mode] = append(factors[mode], f)
		}
	}
	for _, r := range runs {
		for _, e := range r.Evals {
			if e.Note == "" && r.Status == Finished {
				add(e.Mode, e.Factor)
			}
		}
	}
	if len(factors) == 0 && len(runs) > 0 {
		for _, f := range strings.Split(runs[0].key("lengths"), ",") {
			if n, err := strconv.Atoi(f); err == nil {
				add("", n)
			}
		}
	}
	return factors, modes
}

// solved is the accuracy from which a length counts as solved.
const solved = 0.9

// depthOfWords is the smallest depth at which each seed solves a length of words.
func depthOfWords(_ viz.Preset, runs []*Record) ([]presetData, error) {
	runs = having(runs, "task", "words", "task.group", "a5")
	if len(runs) == 0 {
		return nil, nil
	}
	names := seriesNames(runs, byKey("mixer"), func(r *Record) string { return r.key("task.len") + " " + r.key("layers") })
	type problem struct {
		name   string
		length float64
		seed   uint64
	}
	accuracy := map[problem]map[float64]float64{} // by depth
	tried := map[float64]bool{}
	for i, r := range runs {
		length, err := strconv.ParseFloat(r.key("task.len"), 64)
		depth, err2 := strconv.ParseFloat(r.key("layers"), 64)
		if err := errors.Join(err, err2); err != nil {
			return nil, err
		}
		p := problem{names[i], length, r.Seed}
		if accuracy[p] == nil {
			accuracy[p] = map[float64]float64{}
		}
		accuracy[p][depth], tried[depth] = atTraining(r, accuracyOf), true
	}
	if len(tried) < 2 {
		return nil, fmt.Errorf("these are all of depth %s", runs[0].key("layers"))
	}
	values := pile{}
	for p, byDepth := range accuracy {
		values.put(p.name, p.length, p.seed, smallestSolving(byDepth))
	}
	return []presetData{{note: settings(runs), series: values.series(names)}}, nil
}

// smallestSolving is a depth, +Inf if none of them solved, NaN if all diverged.
func smallestSolving(accuracyByDepth map[float64]float64) float64 {
	best := math.NaN()
	for depth, a := range accuracyByDepth {
		switch {
		case a >= solved && !(best <= depth):
			best = depth
		case !math.IsNaN(a) && math.IsNaN(best):
			best = math.Inf(1)
		}
	}
	return best
}
