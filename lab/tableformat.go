package lab

import (
	"encoding/csv"
	"fmt"
	"strings"
)

// formats are the ways to write a table.
var formats = map[string]func(*table) string{
	"text": (*table).text, "md": (*table).markdown, "csv": (*table).csv, "latex": (*table).latex,
}

// csv is the table with commas, quoted where that is needed.
func (t *table) csv() string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.WriteAll(append([][]string{t.header}, t.rows...)) // a Builder takes everything
	return b.String()
}

// latex is a tabular with the rules of booktabs.
func (t *table) latex() string {
	var b strings.Builder
	b.WriteString(`\begin{tabular}{`)
	for i := range t.header {
		b.WriteString(map[bool]string{true: "r", false: "l"}[t.numeric(i)])
	}
	b.WriteString("}\n\\toprule\n")
	for i, row := range append([][]string{t.header}, t.rows...) {
		cells := make([]string, len(row))
		for j, c := range row {
			cells[j] = latexEscape.Replace(c)
		}
		fmt.Fprintf(&b, "%s \\\\\n", strings.Join(cells, " & "))
		if i == 0 {
			b.WriteString("\\midrule\n")
		}
	}
	return b.String() + "\\bottomrule\n\\end{tabular}\n"
}

var latexEscape = strings.NewReplacer(`\`, `\textbackslash{}`, "&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`,
	"{", `\{`, "}", `\}`, "~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "±", `$\pm$`, "η", `$\eta$`, "ε", `$\varepsilon$`)
