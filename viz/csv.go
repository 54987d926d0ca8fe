package viz

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"
)

// CSV is the figure's data, one point or cell a line: its series or row, x or
// column, n, how many runs diverged, mean, sample standard deviation, half
// width of the 95 % interval, and every run's value. What does not exist, such
// as the interval of one run, is left empty; a diverged run reads NaN or Inf.
func (f *Figure) CSV() ([]byte, error) {
	full, k, err := f.complete()
	if err != nil {
		return nil, err
	}
	var lines [][]string
	if k.build == nil {
		for i := range full.Panels {
			p, err := full.panel(i)
			if err != nil {
				return nil, err
			}
			lines = append(lines, p.records(p.Title)...)
		}
	} else {
		lines = full.records("")
	}
	columns := 0
	for _, l := range lines {
		columns = max(columns, len(l))
	}
	head := []string{"panel", "series", "source", "x", "x_label", "n", "diverged", "mean", "sd", "half95"}
	for i := len(head); i < columns; i++ {
		head = append(head, fmt.Sprintf("v%d", i-9))
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write(head)
	for _, l := range lines {
		w.Write(append(l, make([]string, len(head)-len(l))...))
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

func (f *Figure) records(panel string) (lines [][]string) {
	if k, _ := find(f.Kind); k.grid {
		for r, row := range f.Grid.Cells {
			for c, cell := range row {
				lines = append(lines, record([]string{panel, f.Grid.Rows[r], "", strconv.Itoa(c), f.Grid.Cols[c]}, cell))
			}
		}
		return lines
	}
	for _, s := range f.Series {
		for i, x := range s.X {
			label := ""
			for _, t := range f.X.Ticks {
				if t.At == x {
					label = t.Label
				}
			}
			lines = append(lines, record([]string{panel, s.Name, s.Source, decimalOf(x), label}, s.Y[i]))
		}
	}
	return lines
}

func record(start []string, values []float64) []string {
	s := Summarize(values)
	line := append(start, strconv.Itoa(s.N), strconv.Itoa(s.Lost))
	for _, v := range []float64{s.Mean, s.SD, s.Half} {
		if finite(v) {
			line = append(line, decimalOf(v))
		} else {
			line = append(line, "")
		}
	}
	for _, v := range values {
		line = append(line, decimalOf(v))
	}
	return line
}

func decimalOf(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
