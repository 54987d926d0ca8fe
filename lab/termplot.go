package lab

import (
	"fmt"
	"math"
	"strings"
)

// termPlot draws values over their index with braille dots, for a look in a
// terminal: 2 x 4 dots a character. Values that are not finite leave a gap.
func termPlot(values []float64, columns, rows int) string {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if math.IsInf(lo, 0) {
		return ""
	}
	cells := make([][]rune, rows)
	for i := range cells {
		cells[i] = make([]rune, columns)
	}
	dot := [4][2]rune{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		x, y := 0, 0
		if len(values) > 1 {
			x = i * (2*columns - 1) / (len(values) - 1)
		}
		if hi > lo {
			y = int(math.Round((hi - v) / (hi - lo) * float64(4*rows-1)))
		}
		cells[y/4][x/2] |= dot[y%4][x%2]
	}
	top, bottom := fmt.Sprintf("%.4g", hi), fmt.Sprintf("%.4g", lo)
	wide := max(len(top), len(bottom))
	var b strings.Builder
	for i, row := range cells {
		label := ""
		switch i {
		case 0:
			label = top
		case rows - 1:
			label = bottom
		}
		var line strings.Builder
		for _, c := range row {
			if c == 0 {
				line.WriteByte(' ')
			} else {
				line.WriteRune(0x2800 + c)
			}
		}
		fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("%*s ┤%s", wide, label, line.String()), " "))
	}
	first, last := "1", fmt.Sprint(len(values))
	fmt.Fprintf(&b, "%*s  %s%*s\n", wide, "", first, max(0, columns-len(first)), last)
	return b.String()
}
