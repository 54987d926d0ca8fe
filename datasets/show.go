package datasets

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The labels before each line of a row.
const (
	inputLabel  = "input   "
	targetLabel = "target  "
)

// Show writes one row for a person: input tokens by name, and under each that is
// scored what is to be answered there, in lines of at most width columns.
func Show(t Task, b Batch, row, width int) string {
	in, target, mask := b.Row(row)
	var out, tokens, answers strings.Builder
	column := len(inputLabel)
	flush := func() {
		fmt.Fprintln(&out, strings.TrimRight(inputLabel+tokens.String(), " "))
		if line := strings.TrimRight(answers.String(), " "); line != "" {
			fmt.Fprintln(&out, targetLabel+line)
		}
		tokens.Reset()
		answers.Reset()
		column = len(inputLabel)
	}
	for i, id := range in {
		token, answer := t.Token(id), ""
		if mask[i] != 0 {
			answer = t.Class(target[i])
		}
		cell := 1 + max(utf8.RuneCountInString(token), utf8.RuneCountInString(answer))
		if column+cell > width && column > len(inputLabel) {
			flush()
		}
		fmt.Fprintf(&tokens, "%-*s", cell, token)
		fmt.Fprintf(&answers, "%-*s", cell, answer)
		column += cell
	}
	flush()
	return out.String()
}
