package lab

import (
	"fmt"
	"slices"
	"strings"
)

// gridLine is what a grid shows side by side: the cells of the last axis, under
// values of the others.
type gridLine struct {
	values []string // of all axes but the last
	rows   []row
}

// lines are the rows by gridLine; an ablation of one axis is one line.
func (a *Ablation) lines() (out []gridLine) {
	last := len(a.Axes) - 1
	for part := range slices.Chunk(a.rows(), len(a.Axes[last].Values)) {
		out = append(out, gridLine{part[0].values[:last:last], part})
	}
	return out
}

// label names a line among its like: forget = none, erase = scalar.
func (l gridLine) label(a *Ablation) string {
	var parts []string
	for k, v := range l.values {
		parts = append(parts, a.Axes[k].Name+" = "+v)
	}
	return strings.Join(parts, ", ")
}

// matrices are a grid's tables: a row for each line, a column for each value of
// the last axis.
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
			fmt.Sprintf("%s%s, mean ± 95 %% t-interval over n seeds; rows %s, columns %s", v, unit, a.outer(), a.Axes[len(a.Axes)-1].Name),
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
	names, last := a.names(), len(a.Axes)-1
	t := &table{header: append(names[:last:last], a.Axes[last].Values...)}
	t.header[last-1] += " x " + names[last]
	for _, l := range a.lines() {
		line := l.values
		for _, r := range l.rows {
			line = append(line, cell(r))
		}
		t.add(line...)
	}
	return t
}

// outer names the axes but the last.
func (a *Ablation) outer() string { return strings.Join(a.names()[:len(a.Axes)-1], ", ") }
