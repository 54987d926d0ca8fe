package lab

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/viz"
)

// evaluationTables are the evaluations of one configuration's runs: all numbers
// by length, then accuracy by each detail and length.
func evaluationTables(runs []*Record) (out []titled) {
	var evals []Evaluation
	for _, r := range runs {
		if r != nil {
			evals = append(evals, r.Evals...)
		}
	}
	var modes []string
	for _, e := range evals {
		if !slices.Contains(modes, e.Mode) && e.Note == "" {
			modes = append(modes, e.Mode)
		}
	}
	for _, mode := range modes {
		mine := slices.DeleteFunc(slices.Clone(evals), func(e Evaluation) bool { return e.Mode != mode || e.Note != "" })
		out = append(out, lengthTable(runs, mode, mine))
		names, bins := detailNames(mine)
		text := mine[0].Tokens != ""
		for _, name := range names {
			t := &table{header: []string{name}}
			for _, f := range factorsOf(mine) {
				t.header = append(t.header, fmt.Sprintf("%dx", f))
			}
			for _, bin := range bins[name] {
				row := []string{bin}
				for _, f := range factorsOf(mine) {
					row = append(row, ofBin(runs, mode, f, name, bin, text))
				}
				t.add(row...)
			}
			out = append(out, titled{fmt.Sprintf("%s by %s and length", detailUnit(text), name), t})
		}
	}
	return out
}

// notEvaluated says which lengths have no number, and why.
func notEvaluated(runs []*Record) (out []string) {
	for _, r := range runs {
		if r == nil {
			continue
		}
		for _, e := range r.Evals {
			if n := fmt.Sprintf("%dx %s is not possible: %s", e.Factor, e.Mode, e.Note); e.Note != "" && !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

func detailUnit(text bool) string {
	if text {
		return "nats per token"
	}
	return "accuracy in %"
}

func factorsOf(evals []Evaluation) (out []int) {
	for _, e := range evals {
		if !slices.Contains(out, e.Factor) {
			out = append(out, e.Factor)
		}
	}
	return out
}

// stateLine says how many numbers each mixer carries from token to token, by
// which fixed-state mixers are matched.
func stateLine(e *Experiment) string {
	T, total := e.Task.Info().T, 0
	var each []string
	for i, slots := range e.Model.Slots(T) {
		n := mixer.Bytes(slots) / 4
		total += n
		each = append(each, fmt.Sprintf("%s %d", e.Model.Layers[i].Mixer, n))
	}
	return fmt.Sprintf("state of one sequence after %d tokens: %d numbers (%s)", T, total, strings.Join(each, " + "))
}

// lengthTable has a row a test length.
func lengthTable(runs []*Record, mode string, evals []Evaluation) titled {
	t := &table{header: []string{"length", "positions", "micro %", "macro %", "exact %", "chance %", "nats"}}
	tokens := evals[0].Tokens
	if tokens != "" {
		t.header = append(t.header, "perplexity", "bits/byte")
	}
	for _, f := range factorsOf(evals) {
		e := evals[slices.IndexFunc(evals, func(e Evaluation) bool { return e.Factor == f })]
		of := func(number func(Evaluation) Number) viz.Stat {
			return summarize(runs, mode, f, func(e Evaluation) (Number, bool) { return number(e), true })
		}
		row := []string{fmt.Sprintf("%dx", f), fmt.Sprint(e.T),
			percent(of(func(e Evaluation) Number { return e.Micro })),
			percent(of(func(e Evaluation) Number { return e.Macro })),
			percent(of(func(e Evaluation) Number { return e.Exact })),
			fmt.Sprintf("%.3g", 100*float64(e.Chance)),
			plain(of(func(e Evaluation) Number { return e.Loss }))}
		if tokens != "" {
			row = append(row, plain(of(func(e Evaluation) Number { return e.Perplexity })), plain(of(func(e Evaluation) Number { return e.BitsPerByte })))
		}
		t.add(row...)
	}
	title := "test rows"
	if mode != "" {
		title += ", lengthened as " + mode
	}
	if n := summarize(runs, mode, 1, func(e Evaluation) (Number, bool) { return e.Micro, true }).N; n > 1 {
		title += fmt.Sprintf("; mean of %d seeds ± 95 %% t-interval", n)
	}
	if tokens != "" {
		title += "; perplexity per token of " + tokens
	}
	return titled{title, t}
}
