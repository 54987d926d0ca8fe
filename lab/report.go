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
	for _, f := range a.figures() {
		_, saveErr := f.figure.Save(a.Dir, f.name, viz.PaperWide())
		err = errors.Join(err, saveErr)
	}
	return err
}

type namedFigure struct {
	name   string
	figure *viz.Figure
}

// figures are accuracy against length, one for each mode, and training curves.
func (a *Ablation) figures() []namedFigure {
	var out []namedFigure
	for _, mode := range a.modes() {
		f := &viz.Figure{
			Kind:   viz.Length,
			Title:  fmt.Sprintf("%s: accuracy against length (%s)", a.Axis.Name, mode),
			X:      viz.Axis{Label: "test length / training length", Unit: "1", Scale: viz.Log2},
			Y:      viz.Axis{Label: "accuracy at scored positions", Unit: "1", Min: 0, Max: 1},
			Guides: []viz.Guide{viz.Chance(a.Base.Task.Info().Chance)},
		}
		factors := a.factors(mode)
		for _, x := range factors {
			f.X.Ticks = append(f.X.Ticks, viz.Tick{At: float64(x), Label: fmt.Sprintf("%dx", x)})
		}
		for i := range a.Cells {
			s := viz.Series{Name: a.label(i)}
			for _, x := range factors {
				s.X = append(s.X, float64(x))
				s.Y = append(s.Y, a.accuracies(i, mode, x))
			}
			f.Series = append(f.Series, s)
		}
		name := "accuracy"
		if mode != a.modes()[0] {
			name += "-" + mode
		}
		out = append(out, namedFigure{name, f})
	}
	return append(out, namedFigure{"training", a.trainingFigure()})
}

func (a *Ablation) trainingFigure() *viz.Figure {
	f := &viz.Figure{
		Kind:  viz.Training,
		Title: fmt.Sprintf("%s: training loss", a.Axis.Name),
		X:     viz.Axis{Label: "step", Unit: "1"},
		Y:     viz.Axis{Label: "cross-entropy", Unit: "nats"},
	}
	for i, cell := range a.Cells {
		s := viz.Series{Name: a.label(i)}
		for k, r := range a.Runs[i] {
			if r == nil {
				continue
			}
			seed := cell.Int("seed") + k
			metrics, err := ReadMetrics(filepath.Join(a.cellDir(i, seed), "metrics.jsonl"))
			if err != nil {
				continue // the run failed before its first step; the table says so
			}
			for j := range cell.Int("steps") {
				if len(s.X) <= j {
					s.X, s.Y = append(s.X, float64(j+1)), append(s.Y, nil)
				}
				loss := math.NaN()
				if j < len(metrics) {
					loss = float64(metrics[j].Loss)
				}
				s.Y[j] = append(s.Y[j], loss)
			}
		}
		f.Series = append(f.Series, s)
	}
	return f
}

// label names a cell in a figure.
func (a *Ablation) label(i int) string { return a.Axis.Name + " = " + a.Values[i] }

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

// table has a row a cell for one mode.
func (a *Ablation) table(mode string) *table {
	factors := a.factors(mode)
	t := &table{header: []string{a.Axis.Name}}
	for _, f := range factors {
		t.header = append(t.header, fmt.Sprintf("%dx", f))
	}
	t.header = append(t.header, "n", "diverged", "parameters", "state B", "FLOPs/token", "tokens/s", "loss")
	for i := range a.Cells {
		row := []string{a.Values[i]}
		n := 0
		for _, f := range factors {
			s := viz.Summarize(a.accuracies(i, mode, f))
			row, n = append(row, percent(s)), s.N
			if s.N == 0 && !slices.ContainsFunc(a.Runs[i], func(r *Record) bool { return r != nil && r.Status == Diverged }) {
				row[len(row)-1] = string(Failed)
			}
		}
		var lost []string
		var speed, loss []float64
		parameters, state, flops := "", "", ""
		for _, r := range a.Runs[i] {
			switch {
			case r == nil:
				lost = append(lost, "failed")
				continue
			case r.Status == Diverged:
				lost = append(lost, fmt.Sprintf("seed %d step %d", r.Seed, r.Step))
			case r.Status != Finished:
				lost = append(lost, fmt.Sprintf("seed %d %s", r.Seed, r.Status))
			}
			parameters, state, flops = fmt.Sprint(r.Parameters), fmt.Sprint(r.StateBytes), short(r.FLOPs)
			if r.complete() {
				speed, loss = append(speed, float64(r.TokensPerS)), append(loss, float64(r.Final))
			}
		}
		bad := "0"
		if len(lost) > 0 {
			bad = fmt.Sprintf("%d (%s)", len(lost), strings.Join(lost, ", "))
		}
		row = append(row, fmt.Sprint(n), bad, parameters, state, flops)
		if len(loss) == 0 {
			t.add(append(row, "", "")...)
			continue
		}
		t.add(append(row, short(viz.Summarize(speed).Mean), fmt.Sprintf("%.4f", viz.Summarize(loss).Mean))...)
	}
	return t
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
		a.Axis.Name, info.Name, e.Word("mixer"), e.Int("steps"), e.Int("batch"), info.T, 100*info.Chance)
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
	for e := range a.evaluations() {
		if n := fmt.Sprintf("%dx %s is not possible: %s", e.Factor, e.Mode, e.Note); e.Note != "" && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

func (a *Ablation) text() string {
	var b strings.Builder
	for _, mode := range a.modes() {
		fmt.Fprintf(&b, "%s\n%s\n", a.heading(mode), a.table(mode).text())
	}
	for _, t := range a.extras() {
		fmt.Fprintf(&b, "%s\n", t.text())
	}
	for _, n := range a.notes() {
		fmt.Fprintln(&b, n)
	}
	return b.String()
}

func (a *Ablation) markdown() string {
	var b strings.Builder
	for _, mode := range a.modes() {
		fmt.Fprintf(&b, "%s\n\n%s\n", a.heading(mode), a.table(mode).markdown())
	}
	for _, t := range a.extras() {
		fmt.Fprintf(&b, "%s\n", t.markdown())
	}
	for _, n := range a.notes() {
		fmt.Fprintf(&b, "%s\n\n", n)
	}
	return b.String()
}
