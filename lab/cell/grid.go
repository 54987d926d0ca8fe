package cell

import (
	"fmt"
	"html"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/kalmarz/kalmarz/lab"
)

// Table shows rows under the words of header. Floats are printed with four
// digits.
func Table(header string, rows ...Row) { Must(table(header, rows)) }

func table(header string, rows []Row) error {
	t := grid{header: strings.Fields(header)}
	t.numeric = make([]bool, len(t.header))
	for i := range t.numeric {
		t.numeric[i] = true
	}
	for n, row := range rows {
		if len(row) != len(t.header) {
			return fmt.Errorf("cell.Table: row %d has %d cells, the header %d: %s", n+1, len(row), len(t.header), header)
		}
		var cells []string
		for i, x := range row {
			text := fmt.Sprint(x)
			switch v := x.(type) {
			case float64:
				text = fmt.Sprintf("%.4g", v)
			case string:
				t.numeric[i] = false
			}
			cells = append(cells, text)
		}
		t.rows = append(t.rows, cells)
	}
	if lab.IsWorker() {
		return nil
	}
	out.table(t)
	out.flush()
	return nil
}

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
