package lab

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kalmarz/kalmarz/viz"
)

// report writes the ablation's own files: table.md, and the figures with their
// data. Runs are in folders beside them.
func (a *Ablation) report() error {
	err := writeFile(filepath.Join(a.Dir, "table.md"), []byte(a.markdown()))
	a.drawn = nil
	for _, f := range a.figures() {
		_, saveErr := f.figure.Save(a.Dir, f.name, viz.PaperWide())
		err = errors.Join(err, saveErr)
		a.drawn = append(a.drawn, f.name)
	}
	return err
}

// evaluations yields those of every run that began.
func (a *Ablation) evaluations() iter.Seq[Evaluation] {
	return func(yield func(Evaluation) bool) {
		for _, r := range slices.Concat(a.Runs...) {
			if r == nil {
				continue
			}
			for _, e := range r.Evals {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// modes are the ways in which test sequences were lengthened and gave numbers
// beyond the training length.
func (a *Ablation) modes() []string {
	var out []string
	for e := range a.evaluations() {
		if e.Note == "" && !slices.Contains(out, e.Mode) && (e.Factor > 1 || len(a.Base.Task.Lengths()) == 0) {
			out = append(out, e.Mode)
		}
	}
	if len(out) == 0 {
		out = append(a.Base.Task.Lengths(), "")[:1]
	}
	return out
}

// factors are the lengths of a mode that gave numbers somewhere.
func (a *Ablation) factors(mode string) []int {
	var out []int
	for e := range a.evaluations() {
		if e.Mode == mode && e.Note == "" && !slices.Contains(out, e.Factor) {
			out = append(out, e.Factor)
		}
	}
	if len(out) == 0 {
		out, _ = a.Base.Lengths() // checked when the experiment was built
	}
	slices.Sort(out)
	return out
}

// accuracies are a cell's values at one length, one a seed; NaN for a run that
// diverged or failed.
func (a *Ablation) accuracies(cell int, mode string, factor int) []float64 {
	var out []float64
	for _, r := range a.Runs[cell] {
		v := math.NaN()
		if r != nil {
			for _, e := range r.Evals {
				if e.Mode == mode && e.Factor == factor && e.Note == "" {
					v = float64(e.Micro)
				}
			}
		}
		out = append(out, v)
	}
	return out
}

// table has a row for each value of the axes, for one mode.
func (a *Ablation) table(mode string) *table {
	factors := a.factors(mode)
	t := &table{header: a.names()}
	if len(a.Rates) > 0 {
		t.header = append(t.header, "lr")
	}
	for _, f := range factors {
		t.header = append(t.header, fmt.Sprintf("%dx", f))
	}
	t.header = append(t.header, "n", "diverged", "parameters", "state B", "FLOPs/token", "tokens/s", "peak MB", "loss")
	for _, r := range a.rows() {
		line := slices.Clone(r.values)
		if r.rate != "" {
			line = append(line, r.rate)
		}
		n := 0
		for _, f := range factors {
			s := viz.Summarize(a.accuracies(r.cell, mode, f))
			cell := percent(s)
			if s.N == 0 {
				cell = withoutResult(a.Runs[r.cell])
			}
			line, n = append(line, cell), s.N
		}
		var lost []string
		var speed, peak, loss []float64
		parameters, state, flops := "", "", ""
		for _, r := range a.Runs[r.cell] {
			if why := lostBecause(r); why != "" {
				lost = append(lost, why)
			}
			if r == nil {
				continue
			}
			parameters, state, flops = fmt.Sprint(r.Parameters), fmt.Sprint(r.StateBytes), short(r.FLOPs)
			if r.complete() {
				speed, peak, loss = append(speed, float64(r.TokensPerS)), append(peak, r.peakMB()), append(loss, float64(r.Final))
			}
		}
		bad := "0"
		if len(lost) > 0 {
			bad = fmt.Sprintf("%d (%s)", len(lost), strings.Join(lost, ", "))
		}
		line = append(line, fmt.Sprint(n), bad, parameters, state, flops)
		if len(loss) == 0 {
			t.add(append(line, "", "", "")...)
			continue
		}
		t.add(append(line, short(viz.Summarize(speed).Mean), megabytes(viz.Summarize(peak).Mean), fmt.Sprintf("%.4f", viz.Summarize(loss).Mean))...)
	}
	return t
}

// withoutResult names what became of runs that have no number: the worst of it.
func withoutResult(runs []*Record) string {
	for _, status := range []Status{Diverged, Failed, Stopped, Running} {
		if slices.ContainsFunc(runs, func(r *Record) bool { return r != nil && r.Status == status }) {
			return string(status)
		}
	}
	return "-"
}

// lostBecause tells why a run has no result; "" if it has one.
func lostBecause(r *Record) string {
	switch {
	case r == nil:
		return "no record"
	case r.Status == Diverged:
		return fmt.Sprintf("seed %d step %d", r.Seed, r.Step)
	case r.Status != Finished:
		return fmt.Sprintf("seed %d %s", r.Seed, r.Status)
	}
	return ""
}

// percent prints a mean with its 95 % half-width.
func percent(s viz.Stat) string {
	switch {
	case s.N == 0:
		return "diverged"
	case s.N == 1:
		return fmt.Sprintf("%.1f", 100*s.Mean)
	}
	return fmt.Sprintf("%.1f ±%.1f", 100*s.Mean, 100*s.Half)
}

// heading says what a table shows.
func (a *Ablation) heading(mode string) string {
	e := a.Base
	info := e.Task.Info()
	s := fmt.Sprintf("%s on %s, %s, %d steps of %d rows of %d tokens; accuracy at scored positions in %%, mean ± 95 %% t-interval over seeds; chance %.1f",
		a.title(), info.Name, e.Word("mixer"), e.Int("steps"), e.Int("batch"), info.T, 100*info.Chance)
	if mode != "" {
		s += "; lengthened as " + mode
	}
	return s
}

// notes explain lengths that have no number.
func (a *Ablation) notes() []string {
	var out []string
	if a.Kept > 0 {
		out = append(out, fmt.Sprintf("%d of %d runs were there already", a.Kept, len(slices.Concat(a.Runs...))))
	}
	out = append(out, a.rateNotes()...)
	return append(out, notEvaluated(slices.Concat(a.Runs...))...)
}

// tables are all of them; a grid's begin with the two axes against each other.
func (a *Ablation) tables() []titled {
	out := a.matrices()
	for _, mode := range a.modes() {
		out = append(out, titled{a.heading(mode), a.table(mode)})
	}
	return append(out, a.extras()...)
}

func (a *Ablation) text() string {
	var b strings.Builder
	for _, t := range a.tables() {
		fmt.Fprintln(&b, t.text())
	}
	for _, n := range a.notes() {
		fmt.Fprintln(&b, n)
	}
	return b.String()
}

func (a *Ablation) markdown() string {
	var b strings.Builder
	for _, t := range a.tables() {
		fmt.Fprintln(&b, t.markdown())
	}
	for _, n := range a.notes() {
		fmt.Fprintf(&b, "%s\n\n", n)
	}
	return b.String()
}
