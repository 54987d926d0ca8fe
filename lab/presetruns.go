package lab

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kalmarz/kalmarz/viz"
)

// notTold are keys that do not part runs into series: which seeds there are, and
// what is done besides training.
var notTold = []string{"seed", "seeds", "eval_rows", "lengths", "save_every", "keep"}

// seriesNames names each run's series: its group, and those keys in which runs
// of the group differ although they stand at the same place of the figure.
func seriesNames(runs []*Record, group, place func(*Record) string) []string {
	type spot struct{ group, place string }
	first := map[spot]*Record{}
	differ := map[string][]string{}
	for _, r := range runs {
		at := spot{group(r), place(r)}
		if first[at] == nil {
			first[at] = r
			continue
		}
		for _, row := range configDiff(first[at].Config, r.Config).rows {
			if key := row[0]; !slices.Contains(notTold, key) && !slices.Contains(differ[at.group], key) {
				differ[at.group] = append(differ[at.group], key)
			}
		}
	}
	names := make([]string, len(runs))
	for i, r := range runs {
		names[i] = group(r)
		for _, key := range differ[group(r)] {
			names[i] += fmt.Sprintf(", %s = %s", bare(key), r.key(key))
		}
	}
	return names
}

// bare is a key without the task or the mixer that it is of.
func bare(key string) string {
	if _, name, ok := strings.Cut(key, "."); ok {
		return name
	}
	return key
}

// pile holds values by series, place and seed; of two the later one stays.
type pile map[string]map[float64]map[uint64]float64

func (p pile) put(series string, x float64, seed uint64, value float64) {
	if p[series] == nil {
		p[series] = map[float64]map[uint64]float64{}
	}
	if p[series][x] == nil {
		p[series][x] = map[uint64]float64{}
	}
	p[series][x][seed] = value
}

// series are those of the pile, in the order of names.
func (p pile) series(names []string) (out []viz.Series) {
	for _, name := range names {
		if p[name] == nil || slices.ContainsFunc(out, func(s viz.Series) bool { return s.Name == name }) {
			continue
		}
		s := viz.Series{Name: name}
		for _, x := range slices.Sorted(maps.Keys(p[name])) {
			var y []float64
			for _, seed := range slices.Sorted(maps.Keys(p[name][x])) {
				y = append(y, p[name][x][seed])
			}
			s.X, s.Y = append(s.X, x), append(s.Y, y)
		}
		out = append(out, s)
	}
	return out
}

// atTraining is a number of a run's evaluation at its training length; NaN if it
// diverged.
func atTraining(r *Record, number func(Evaluation) Number) float64 {
	for _, e := range r.Evals {
		if e.Factor == 1 && e.Note == "" && r.Status == Finished {
			return float64(number(e))
		}
	}
	return math.NaN()
}

func accuracyOf(e Evaluation) Number { return e.Micro }
func lossOf(e Evaluation) Number     { return e.Loss }

// having are the runs whose keys have these values, given as key, value, ...
func having(runs []*Record, pairs ...string) (out []*Record) {
	for _, r := range runs {
		fits := true
		for i := 0; i < len(pairs); i += 2 {
			fits = fits && r.key(pairs[i]) == pairs[i+1]
		}
		if fits {
			out = append(out, r)
		}
	}
	return out
}

func byKey(key string) func(*Record) string { return func(r *Record) string { return r.key(key) } }

// endedRuns are the runs that words name, the oldest first, each once; those
// that have not come to an end have no result to show.
func (s *Session) endedRuns(root string, words []string) ([]*Record, error) {
	found := map[string]listedRun{}
	for _, w := range words {
		runs, err := runsOf(root, w)
		if err != nil {
			return nil, err
		}
		for _, l := range runs {
			path, err := filepath.Abs(l.dir)
			if err != nil {
				return nil, err
			}
			found[path] = l
		}
	}
	var out []*Record
	for _, l := range found {
		if l.r.Status == Finished || l.r.Status == Diverged {
			out = append(out, l.r)
		}
	}
	if n := len(found) - len(out); n > 0 {
		s.note(fmt.Sprintf("left out: %d of %d runs, which have not come to an end; see runs", n, len(found)))
	}
	slices.SortFunc(out, func(a, b *Record) int {
		if c := a.Started.Compare(b.Started); c != 0 {
			return c
		}
		return strings.Compare(a.unrouted()+a.key(routeKey), b.unrouted()+b.key(routeKey))
	})
	return out, nil
}
