package cell

import (
	"fmt"
	"html"
	"io"
	"strings"
	"text/tabwriter"
)

// grid is a table.
type grid struct {
	header  []string
	rows    [][]string
	numeric []bool
}

func (g grid) text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{g.header}, g.rows...) {
		io.WriteString(w, strings.Join(row, "\t")+"\n")
	}
	w.Flush()
	return b.String()
}

func (g grid) html() string {
	var b strings.Builder
	row := func(tag string, cells []string) {
		b.WriteString("<tr>")
		for i, c := range cells {
			side := "left"
			if g.numeric[i] {
				side = "right"
			}
			fmt.Fprintf(&b, `<%s style="text-align:%s;white-space:pre">%s</%s>`, tag, side, html.EscapeString(c), tag)
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("<table style=\"font-size:85%\">\n")
	if strings.Join(g.header, "") != "" {
		row("th", g.header)
	}
	for _, cells := range g.rows {
		row("td", cells)
	}
	return b.String() + "</table>"
}
