package lab

import (
	"fmt"
	"math"
	"slices"

	"github.com/kalmarz/kalmarz/viz"
)

// view is one number of a grid's cells: accuracy at a length, or of a text bits
// per byte.
type view struct {
	mode   string
	factor int
	text   bool
}

// views are the training length and, in each mode, the longest.
func (a *Ablation) views() (out []view) {
	text := false
	for e := range a.evaluations() {
		text = text || e.Tokens != ""
	}
	for i, mode := range a.modes() {
		factors := a.factors(mode)
		if i == 0 {
			out = append(out, view{mode, factors[0], text})
		}
		if last := factors[len(factors)-1]; last != factors[0] {
			out = append(out, view{mode, last, text})
		}
	}
	return out
}

func (v view) String() string {
	s := "accuracy"
	if v.text {
		s = "bits per byte"
	}
	s += fmt.Sprintf(" at %dx", v.factor)
	if v.factor > 1 && v.mode != "" {
		s += " " + v.mode
	}
	return s
}

// of is one value a run, NaN where it has none; a run that never began is left
// out.
func (v view) of(runs []*Record) (out []float64) {
	for _, r := range runs {
		if r == nil {
			continue
		}
		x := math.NaN()
		for _, e := range r.Evals {
			switch {
			case e.Mode != v.mode || e.Factor != v.factor || e.Note != "":
			case v.text:
				x = float64(e.BitsPerByte)
			default:
				x = float64(e.Micro)
			}
		}
		out = append(out, x)
	}
	return out
}

// print is a cell of a matrix: mean ± interval, n, and what happened to runs that
// have no value.
func (v view) print(runs []*Record) string {
	s := viz.Summarize(v.of(runs))
	if s.N == 0 && s.Lost == 0 {
		return "-"
	}
	var marks []string
	for _, status := range []Status{Diverged, Failed, Stopped, Running} {
		n := 0
		for _, r := range runs {
			if r != nil && r.Status == status {
				n++
			}
		}
		if n > 0 {
			marks = append(marks, fmt.Sprintf("%d %s", n, status))
		}
	}
	if n := len(runs) - s.N - s.Lost; n > 0 {
		marks = append(marks, fmt.Sprintf("%d missing", n))
	}
	out := ""
	if s.N > 0 && v.text {
		out = plain(s) + " "
	} else if s.N > 0 {
		out = percent(s) + " "
	}
	out += fmt.Sprintf("n=%d", s.N)
	for _, m := range marks {
		out += ", " + m
	}
	return out
}

// matrices are a grid's tables: a row for each value of the first axis, a column
// for each of the second.
func (a *Ablation) matrices() (out []titled) {
	if len(a.Axes) < 2 {
		return nil
	}
	for _, v := range a.views() {
		unit := " in %"
		if v.text {
			unit = ""
		}
		out = append(out, titled{
			fmt.Sprintf("%s%s, mean ± 95 %% t-interval over n seeds; rows %s, columns %s", v, unit, a.Axes[0].Name, a.Axes[1].Name),
			a.matrix(func(r row) string { return v.print(a.Runs[r.cell]) }),
		})
	}
	if len(a.Rates) > 0 {
		out = append(out, titled{"chosen learning rate; ! is the first or the last of the list", a.matrix(func(r row) string {
			if r.edge != "" {
				return r.rate + " !"
			}
			return r.rate
		})})
	}
	return out
}

func (a *Ablation) matrix(cell func(row) string) *table {
	t := &table{header: append([]string{a.title()}, a.Axes[1].Values...)}
	for part := range slices.Chunk(a.rows(), len(a.Axes[1].Values)) {
		line := part[0].values[:1:1]
		for _, r := range part {
			line = append(line, cell(r))
		}
		t.add(line...)
	}
	return t
}
