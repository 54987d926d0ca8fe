package lab

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kalmarz/kalmarz/viz"
)

// benchFigure is a figure and the end of its name.
type benchFigure struct {
	name string
	viz.Figure
}

// figures are one for each bench and pass that was measured at two lengths or
// more: decoding speed against what came before, everything else as time
// against length with both axes logarithmic.
func (r *BenchReport) figures() (out []benchFigure) {
	type key struct{ bench, pass string }
	var order []key
	rows := map[key][]BenchRow{}
	for _, x := range r.Rows {
		k := key{x.Bench, x.Pass}
		if rows[k] == nil {
			order = append(order, k)
		}
		if x.Error == "" {
			rows[k] = append(rows[k], x)
		} else if rows[k] == nil {
			rows[k] = []BenchRow{}
		}
	}
	device, _, _ := strings.Cut(r.Device, ",")
	for _, k := range order {
		f := viz.Figure{Kind: viz.Scaling, Title: title(k.bench, k.pass, rows[k]), Slopes: []float64{1, 2}, Samples: "measurements",
			Caption: fmt.Sprintf("Medians on %s.", device)}
		value := func(x BenchRow) float64 { return x.Median }
		if k.bench == "decode" {
			f.Kind, f.Slopes = viz.Lines, nil
			f.X = viz.Axis{Label: "context", Unit: "tokens", Scale: viz.Log2}
			f.Y = viz.Axis{Label: "decoding speed", Unit: "tokens/s", Scale: viz.Log10}
			value = func(x BenchRow) float64 { return x.TokensPerS }
		}
		f.Series = seriesOf(rows[k], value)
		if len(f.Series) > 0 {
			name := k.bench
			if r.passes(k.bench) > 1 {
				name += "-" + strings.ReplaceAll(k.pass, " ", "-")
			}
			out = append(out, benchFigure{name, f})
		}
	}
	return out
}

// title names a bench, the form that all rows have, and the pass.
func title(bench, pass string, rows []BenchRow) string {
	words := []string{bench, pass}
	if len(rows) > 0 && !slices.ContainsFunc(rows, func(x BenchRow) bool { return x.Form != rows[0].Form }) {
		words = []string{bench, rows[0].Form, pass}
	}
	return strings.Join(words, ", ")
}

// passes is the number of different passes in a bench's rows.
func (r *BenchReport) passes(bench string) int {
	seen := map[string]bool{}
	for _, x := range r.Rows {
		if x.Bench == bench {
			seen[x.Pass] = true
		}
	}
	return len(seen)
}

// seriesOf are the measurements of each thing and form that has two lengths.
func seriesOf(rows []BenchRow, value func(BenchRow) float64) []viz.Series {
	forms := map[string]bool{}
	for _, x := range rows {
		forms[x.Form] = true
	}
	var out []viz.Series
	for _, x := range rows {
		name := x.What
		if len(forms) > 1 {
			name += ", " + x.Form
		}
		i := slices.IndexFunc(out, func(s viz.Series) bool { return s.Name == name })
		if i < 0 {
			i = len(out)
			out = append(out, viz.Series{Name: name})
		}
		out[i].X = append(out[i].X, float64(x.Shape["T"]))
		out[i].Y = append(out[i].Y, []float64{value(x)})
	}
	return slices.DeleteFunc(out, func(s viz.Series) bool { return len(s.X) < 2 })
}

// draw saves the figures below a folder, or under the name of a file where
// there is one; it returns their paths.
func (r *BenchReport) draw(to string) (files []string, err error) {
	figures := r.figures()
	if len(figures) == 0 {
		return nil, fmt.Errorf("--figure %s: nothing was measured at two lengths: give T=N,N", to)
	}
	dir, base := figurePlace(to)
	for _, f := range figures {
		name := f.name
		if base != "" && len(figures) == 1 {
			name = base
		} else if base != "" {
			name = base + "-" + f.name
		}
		if _, err := f.Save(dir, name, viz.PaperWide()); err != nil {
			return files, err
		}
		files = append(files, filepath.Join(dir, name+".svg"))
	}
	return files, nil
}

// figurePlace takes FOLDER or FOLDER/NAME.svg apart.
func figurePlace(to string) (dir, base string) {
	ext := filepath.Ext(to)
	if slices.Contains([]string{".svg", ".png", ".pdf", ".csv"}, ext) {
		return filepath.Dir(to), strings.TrimSuffix(filepath.Base(to), ext)
	}
	return to, ""
}
