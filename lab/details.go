package lab

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalmarz/kalmarz/viz"
)

// titled is a table with what it shows.
type titled struct {
	title string
	*table
}

func (t titled) text() string     { return t.title + "\n" + t.table.text() }
func (t titled) markdown() string { return t.title + "\n\n" + t.table.markdown() }

// summarize collects one number of each run's evaluation of a mode and factor.
func summarize(runs []*Record, mode string, factor int, number func(Evaluation) (Number, bool)) viz.Stat {
	var out []float64
	for _, r := range runs {
		if r == nil {
			continue
		}
		for _, e := range r.Evals {
			if e.Mode != mode || e.Factor != factor || e.Note != "" {
				continue
			}
			if x, ok := number(e); ok {
				out = append(out, float64(x))
			}
		}
	}
	return viz.Summarize(out)
}

// plain prints a mean with its 95 % half-width.
func plain(s viz.Stat) string {
	switch {
	case s.N == 0:
		return ""
	case s.N == 1:
		return fmt.Sprintf("%.4g", s.Mean)
	}
	return fmt.Sprintf("%.4g ±%.2g", s.Mean, s.Half)
}

// ofBin prints what matters of one bin of a detail: accuracy, or of a text nats.
func ofBin(runs []*Record, mode string, factor int, detail, bin string, text bool) string {
	s := summarize(runs, mode, factor, binOf(detail, bin, text))
	switch {
	case s.N == 0:
		return ""
	case text:
		return plain(s)
	}
	return percent(s)
}

// binOf takes the accuracy, or the nats, of one bin out of an evaluation.
func binOf(detail, bin string, nats bool) func(Evaluation) (Number, bool) {
	return func(e Evaluation) (Number, bool) {
		for _, d := range e.Details {
			for _, b := range d.Bins {
				switch {
				case d.Name != detail || b.Name != bin:
				case nats:
					return b.Loss, true
				default:
					return b.Micro, true
				}
			}
		}
		return 0, false
	}
}

// detailNames lists the details of evaluations and the bins of each, those of
// the longest rows in their order; last stays last.
func detailNames(evals []Evaluation) (names []string, bins map[string][]string) {
	bins = map[string][]string{}
	for _, e := range evals {
		for _, d := range e.Details {
			if !slices.Contains(names, d.Name) {
				names = append(names, d.Name)
			}
			if len(d.Bins) > len(bins[d.Name]) {
				bins[d.Name] = nil
				for _, b := range d.Bins {
					bins[d.Name] = append(bins[d.Name], b.Name)
				}
			}
		}
	}
	return names, bins
}

// extras are an ablation's tables beside accuracy by length: how learning rates
// were chosen, of a text what it costs, and accuracy at the training length by
// each detail.
func (a *Ablation) extras() (out []titled) {
	if len(a.Rates) > 0 {
		out = append(out, a.rateTable())
	}
	evals := slices.Collect(a.evaluations())
	for _, mode := range a.modes() {
		for _, e := range evals {
			if e.Mode == mode && e.Tokens != "" {
				out = append(out, a.textTable(mode, "perplexity per token of "+e.Tokens, func(e Evaluation) Number { return e.Perplexity }),
					a.textTable(mode, "bits per byte", func(e Evaluation) Number { return e.BitsPerByte }))
				break
			}
		}
	}
	base := slices.DeleteFunc(evals, func(e Evaluation) bool { return e.Factor != 1 })
	names, bins := detailNames(base)
	text := len(base) > 0 && base[0].Tokens != ""
	for _, name := range names {
		t := &table{header: append(a.names(), bins[name]...)}
		for _, r := range a.rows() {
			line := slices.Clone(r.values)
			for _, bin := range bins[name] {
				line = append(line, ofBin(a.Runs[r.cell], base[0].Mode, 1, name, bin, text))
			}
			t.add(line...)
		}
		out = append(out, titled{fmt.Sprintf("%s at the training length, by %s", detailUnit(text), name), t})
	}
	return out
}

// textTable has a row a cell and a column a length, of a number of texts.
func (a *Ablation) textTable(mode, title string, number func(Evaluation) Number) titled {
	t := &table{header: a.names()}
	for _, f := range a.factors(mode) {
		t.header = append(t.header, fmt.Sprintf("%dx", f))
	}
	for _, r := range a.rows() {
		line := slices.Clone(r.values)
		for _, f := range a.factors(mode) {
			line = append(line, plain(summarize(a.Runs[r.cell], mode, f, func(e Evaluation) (Number, bool) { return number(e), true })))
		}
		t.add(line...)
	}
	return titled{strings.TrimSuffix(title+", lengthened as "+mode, ", lengthened as "), t}
}
