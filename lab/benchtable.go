package lab

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// table is the rows without what all have in common.
func (r *BenchReport) table() *table {
	t := &table{header: []string{"bench", "what", "form", "pass", "dtype", "shape", "median ms", "least", "most", "tokens/s", "GFLOP/s", "% product", "GB/s", "% copy", "peak MB", "compile s"}}
	for _, x := range r.Rows {
		cells := []string{x.Bench, x.What, x.Form, x.Pass, x.DType, x.Shape.String()}
		if x.Error != "" {
			t.add(append(cells, slices.Repeat([]string{"-"}, len(t.header)-len(cells))...)...)
			continue
		}
		flops, ofProduct, copied, ofCopy, mb := "-", "-", digits(x.Bytes/x.Median/1e6), "-", "-"
		if x.GFLOP > 0 {
			flops = digits(x.GFLOP / x.Median * 1e3)
		}
		if x.ProductShare > 0 {
			ofProduct = fmt.Sprintf("%.1f", 100*x.ProductShare)
		}
		if x.CopyShare > 0 {
			ofCopy = fmt.Sprintf("%.1f", 100*x.CopyShare)
		}
		if x.Memory != nil {
			mb = digits(float64(x.Memory.Bytes) / 1e6)
		}
		t.add(append(cells, digits(x.Median), digits(x.Least), digits(x.Most), short(x.TokensPerS), flops, ofProduct, copied, ofCopy, mb, digits(x.Compile))...)
	}
	if x := r.common(); x != "" {
		at := slices.Index(t.header, "dtype")
		t.header = slices.Delete(t.header, at, at+1)
		for i := range t.rows {
			t.rows[i] = slices.Delete(t.rows[i], at, at+1)
		}
	}
	return t
}

// common is the type that all rows have, or "".
func (r *BenchReport) common() string {
	for _, x := range r.Rows {
		if x.DType != r.Rows[0].DType {
			return ""
		}
	}
	return r.Rows[0].DType
}

// digits prints three of them, without an exponent.
func digits(x float64) string {
	if x >= 100 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.3g", x)
}

// print writes the table, why rows are empty, and what the numbers are.
func (r *BenchReport) print(w io.Writer) error {
	var b strings.Builder
	b.WriteString(r.table().text() + "\n")
	of := map[string]bool{}
	for _, x := range r.Rows {
		if x.Error != "" {
			b.WriteString(x.summary() + "\n")
		} else if x.Memory != nil && !of[x.Memory.Of] {
			of[x.Memory.Of] = true
			fmt.Fprintf(&b, "peak MB: %s\n", x.Memory.Of)
		}
	}
	fmt.Fprintf(&b, "%s on %s\n", strings.TrimSpace(r.common()+" "+r.Backend), r.Device)
	if r.Rates != nil {
		fmt.Fprintf(&b, "copy %sB/s (%sB read and written)", short(r.Rates.Copy), short(r.Rates.Array))
		for _, d := range slices.Sorted(maps.Keys(r.Rates.Product)) {
			fmt.Fprintf(&b, ", %s product %sFLOP/s (side %d)", d, short(r.Rates.Product[d]), r.Rates.Side)
		}
		b.WriteString("\n")
	}
	for _, x := range r.Rows {
		if x.Ahead > 1 {
			fmt.Fprintf(&b, "operators: %d calls under way at once\n", x.Ahead)
			break
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// summary is a row in a few words.
func (r BenchRow) summary() string {
	s := fmt.Sprintf("%s %s, %s, %s, %s: ", r.Bench, r.What, r.Form, r.Pass, r.Shape)
	if r.Error != "" {
		return s + r.Error
	}
	return s + digits(r.Median) + " ms"
}
