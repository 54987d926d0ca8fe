package lab

import (
	"fmt"
	"slices"

	"github.com/kalmarz/kalmarz/viz"
)

// row is a line of an ablation's tables: its values of the axes and the cell
// whose runs are its result. Where learning rates are chosen, that cell has the
// one that did best on validation rows; what the others did in testing is not
// looked at, since a choice by test results would make them too good.
type row struct {
	values []string
	cell   int
	rate   string // the chosen learning rate; "" where none is chosen
	edge   string // "smallest" or "largest": a better one may lie beyond the list
}

// rows are the lines of the tables.
func (a *Ablation) rows() (out []row) {
	each := max(1, len(a.Rates))
	for first := 0; first < len(a.Cells); first += each {
		r := row{values: a.values(first)[:len(a.Axes)], cell: first}
		if n := len(a.Rates); n > 0 {
			best := a.chooseRate(first)
			r.cell, r.rate = first+best, a.Rates[best]
			switch best {
			case 0:
				r.edge = "smallest"
			case n - 1:
				r.edge = "largest"
			}
		}
		out = append(out, r)
	}
	return out
}

// trial is what a learning rate's runs reached on validation rows.
type trial struct {
	lost int // runs without a result
	loss viz.Stat
	acc  viz.Stat
	text bool
}

func (a *Ablation) trial(cell int) (t trial) {
	var loss, acc []float64
	for _, r := range a.Runs[cell] {
		if r == nil || r.Validation == nil {
			t.lost++
			continue
		}
		loss, acc = append(loss, float64(r.Validation.Loss)), append(acc, float64(r.Validation.Micro))
		t.text = r.Validation.Tokens != ""
	}
	t.loss, t.acc = viz.Summarize(loss), viz.Summarize(acc)
	t.lost += t.loss.Lost
	return t
}

// better tells whether a trial is to be preferred: first fewer runs that came to
// nothing, then the mean accuracy, and of equals the mean loss; of a text the
// loss alone.
func (t trial) better(than trial) bool {
	switch {
	case t.lost != than.lost:
		return t.lost < than.lost
	case !t.text && t.acc.Mean != than.acc.Mean:
		return t.acc.Mean > than.acc.Mean
	}
	return t.loss.Mean < than.loss.Mean
}

// chooseRate returns which learning rate's runs, of those from cell first on,
// did best on validation rows; the smallest among equals.
func (a *Ablation) chooseRate(first int) int {
	best, chosen := a.trial(first), 0
	for i := 1; i < len(a.Rates); i++ {
		if t := a.trial(first + i); t.better(best) {
			best, chosen = t, i
		}
	}
	return chosen
}

// rateNotes warn where the chosen learning rate is the first or the last.
func (a *Ablation) rateNotes() (out []string) {
	for _, r := range a.rows() {
		if r.edge != "" {
			name := a.label(r.cell)
			out = append(out, fmt.Sprintf("warning: %s: the chosen learning rate is the %s of --lrs: a better one may lie beyond it", name, r.edge))
		}
	}
	return out
}

// rateTable has a row a cell and a column a learning rate: the mean score on
// validation rows, by which one is chosen.
func (a *Ablation) rateTable() titled {
	t := &table{header: append(a.names(), a.Rates...)}
	text := false
	for _, r := range a.rows() {
		line := slices.Clone(r.values)
		for i, rate := range a.Rates {
			tr := a.trial(r.cell - slices.Index(a.Rates, r.rate) + i)
			text = text || tr.text
			cell := percent(tr.acc)
			if tr.text {
				cell = plain(tr.loss)
			}
			switch {
			case tr.loss.N == 0:
				cell = "-"
			case tr.lost > 0:
				cell += fmt.Sprintf(" (%d lost)", tr.lost)
			}
			if rate == r.rate {
				cell += " *"
			}
			line = append(line, cell)
		}
		t.add(line...)
	}
	what := "accuracy in %"
	if text {
		what = "nats per token"
	}
	return titled{fmt.Sprintf("%s on validation rows by learning rate, mean ± 95 %% t-interval over seeds; * is chosen, and its test results are those above", what), t}
}
