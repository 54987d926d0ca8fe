package lab

import (
	"fmt"
	"math"

	"github.com/kalmarz/kalmarz/viz"
)

// view is one number of an ablation's cells: accuracy at a length, or of a text
// bits per byte; or the loss.
type view struct {
	mode   string
	factor int
	text   bool
	loss   bool
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
			out = append(out, view{mode: mode, factor: factors[0], text: text})
		}
		if last := factors[len(factors)-1]; last != factors[0] {
			out = append(out, view{mode: mode, factor: last, text: text})
		}
	}
	return out
}

func (v view) String() string {
	s := "accuracy"
	switch {
	case v.loss:
		s = "test loss"
	case v.text:
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
		out = append(out, v.one(r))
	}
	return out
}

// one is the value of a run, NaN if it has none.
func (v view) one(r *Record) float64 {
	x := math.NaN()
	for _, e := range r.Evals {
		switch {
		case e.Mode != v.mode || e.Factor != v.factor || e.Note != "":
		case v.loss:
			x = float64(e.Loss)
		case v.text:
			x = float64(e.BitsPerByte)
		default:
			x = float64(e.Micro)
		}
	}
	return x
}

// quantity names what is measured, with its unit.
func (v view) quantity() (label, unit string) {
	switch {
	case v.loss:
		return "loss", "nats per position"
	case v.text:
		return "cost", "bits per byte"
	}
	return "accuracy", "1"
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
