package lab

import (
	"strings"
	"unicode/utf8"
)

// table is rows of text under a header.
type table struct {
	header []string
	rows   [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// text aligns the columns, numbers to the right, unless Tables writes them.
func (t *table) text() string {
	widths := make([]int, len(t.header))
	right := make([]bool, len(t.header))
	for i := range right {
		right[i] = t.numeric(i)
	}
	if Tables != nil {
		return Tables(t.header, t.rows, right)
	}
	for _, row := range append([][]string{t.header}, t.rows...) {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	for _, row := range append([][]string{t.header}, t.rows...) {
		var line strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if right[i] {
				c = pad + c
			} else {
				c += pad
			}
			if i > 0 {
				line.WriteString("  ")
			}
			line.WriteString(c)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// numeric tells whether a column's cells all begin like a number.
func (t *table) numeric(col int) bool {
	for _, row := range t.rows {
		if c := row[col]; c != "" && !strings.ContainsAny(c[:1], "0123456789-+.<") && c != "diverged" {
			return false
		}
	}
	return true
}

// markdown is the table for a README or a paper's draft.
func (t *table) markdown() string {
	var b strings.Builder
	for i, row := range append([][]string{t.header}, t.rows...) {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return b.String()
}
