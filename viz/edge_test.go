package viz

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

// Whatever the data, there is a figure that says what it lacks or an error
// that says it.
func TestEdges(t *testing.T) {
	line := func(k Kind, x []float64, y ...[]float64) Figure {
		return Figure{Kind: k, Title: "edge", X: Axis{Label: "x", Unit: "1"}, Y: Axis{Label: "y", Unit: "1"},
			Series: []Series{{Name: "a", X: x, Y: y}}}
	}
	grid := func(k Kind, cells ...[][]float64) Figure {
		f := Figure{Kind: k, Title: "edge", X: Axis{Label: "x", Unit: "1"}, Y: Axis{Label: "y", Unit: "1"},
			Grid: &Grid{Cols: []string{"c", "d"}, Label: "z", Unit: "1", Cells: cells}}
		for range cells {
			f.Grid.Rows = append(f.Grid.Rows, "r")
		}
		return f
	}
	one, v := []float64{1}, func(x ...float64) []float64 { return x }
	with := func(f Figure, change func(*Figure)) Figure { change(&f); return f }
	named := func(f *Figure) { f.X.Ticks = Categories("a", "b") }
	log := func(f *Figure) { f.Y.Scale = Log10 }
	for _, c := range []struct {
		name  string
		fig   Figure
		shows string // in the figure's text, or
		fails string // in the error
	}{
		{"no kind", Figure{Title: "edge"}, "", "unknown kind \"\": known are lines, length"},
		{"no title", line(Lines, one, v(1)).untitled(), "", "no title"},
		{"no data, lines", Figure{Kind: Lines, Title: "edge"}, "", "no data"},
		{"no data, length", Figure{Kind: Length, Title: "edge"}, "", "no data"},
		{"no data, training", line(Training, nil), "", "no data"},
		{"no data, bars", line(Bars, one, nil), "", "no data"},
		{"no data, depth", line(Depth, one, v()), "", "no data"},
		{"no data, scaling", Figure{Kind: Scaling, Title: "edge"}, "", "no data"},
		{"no data, spectrum", Figure{Kind: Spectrum, Title: "edge"}, "", "no data"},
		{"no data, heat", Figure{Kind: Heat, Title: "edge"}, "", "no data"},
		{"no data, heat cells", grid(Heat, [][]float64{nil, nil}), "", "no data: all 2 cells"},
		{"no data, tokens", Figure{Kind: Tokens, Title: "edge"}, "", "no data"},
		{"no data, multiples", Figure{Kind: Multiples, Title: "edge"}, "", "no data: no panels"},
		{"no data, panel", Figure{Kind: Multiples, Title: "edge", Panels: []Figure{{Kind: Length, Title: "p"}}}, "", "figure \"p\": no data"},
		{"no unit", with(line(Lines, one, v(1)), func(f *Figure) { f.Y.Unit = "" }), "", "no unit"},
		{"no label", with(line(Lines, one, v(1)), func(f *Figure) { f.X.Label = "" }), "", "x axis: no label"},
		{"ragged series", line(Lines, v(1, 2), v(1)), "", "2 x values for 1 y values"},
		{"ragged grid", grid(Heat, [][]float64{{1}}), "", "1 cells for 2 column names"},
		{"x is NaN", line(Lines, v(nan), v(1)), "", "x[0] = NaN"},
		{"one seed, lines", line(Lines, one, v(3)), "n = 1, no interval", ""},
		{"one seed, length", line(Length, one, v(0.5)), "n = 1, no interval", ""},
		{"one seed, scaling", line(Scaling, one, v(3)), "n = 1, no interval", ""},
		{"one seed, tokens", grid(Tokens, [][]float64{{1}, {2}}), "n = 1, no interval", ""},
		{"one seed, panel", Figure{Kind: Multiples, Title: "edge", Panels: []Figure{line(Lines, one, v(3))}}, "n = 1, no interval", ""},
		{"one seed, training", line(Training, v(0, 1), v(3), v(2)), "n = 1, no interval", ""},
		{"one seed, bars", with(line(Bars, one, v(3)), named), "n = 1, no interval", ""},
		{"one seed, depth", line(Depth, one, v(3)), "n = 1, no interval", ""},
		{"one value, spectrum", line(Spectrum, one, v(0.5)), "n = 1, no interval", ""},
		{"one seed, heat", grid(Heat, [][]float64{{1}, {2}}), "n = 1, no interval", ""},
		{"all diverged, lines", line(Lines, one, v(nan, inf)), "Every run diverged", ""},
		{"all diverged, length", line(Length, one, v(nan, inf)), "Every run diverged", ""},
		{"all diverged, panel", Figure{Kind: Multiples, Title: "edge", Panels: []Figure{line(Lines, one, v(nan))}}, "Every run diverged", ""},
		{"all diverged, log axis", with(line(Lines, one, v(nan)), log), "Every run diverged", ""},
		{"all diverged, training", line(Training, v(0, 1), v(nan), v(nan)), "Every run diverged", ""},
		{"all diverged late", line(Training, v(0, 1), v(1), v(nan)), "(1 of 1 diverged)", ""},
		{"all diverged, bars", with(line(Bars, one, v(nan)), named), "Every run diverged", ""},
		{"all diverged, depth", line(Depth, one, v(nan)), "Every run diverged", ""},
		{"all diverged, scaling", line(Scaling, one, v(nan, nan)), "Every run diverged", ""},
		{"all diverged, spectrum", line(Spectrum, one, v(nan, inf)), "No finite eigenvalue", ""},
		{"all diverged, heat", grid(Heat, [][]float64{{nan}, {nan, inf}}), "every run diverged (2 of 2 cells)", ""},
		{"all diverged, tokens", grid(Tokens, [][]float64{{nan}, {nan}}), "every run diverged (2 of 2 cells)", ""},
		{"nothing solved", line(Depth, one, v(inf, inf)), "no depth tried solved it (1 points)", ""},
		{"depth 0", line(Depth, one, v(0)), "", "must be at least 1"},
		{"log axis, all at or below 0", with(line(Lines, v(1, 2), v(0), v(-1)), log), "", "y axis is logarithmic and none of its"},
		{"log axis, some below 0", with(line(Lines, v(1, 2), v(5), v(-1)), log), "at or below 0 on a logarithmic axis: 1 of 2 points", ""},
		{"log axis, interval below 0", with(line(Lines, v(1, 2), v(1, 5), v(2, 9)), log), "n = 2", ""},
		{"log axis, x at 0", line(Scaling, v(0, 4), v(1), v(2)), "at or below 0 on a logarithmic axis: 1 of 2 points", ""},
		{"log axis, x all at 0", line(Scaling, v(0), v(1)), "", "x axis is logarithmic and none of its 1 values"},
		{"log axis, training", with(line(Training, v(0, 1), v(-1), v(0)), log), "", "y axis is logarithmic"},
		{"log axis, step 0", with(line(Training, v(0, 1, 2), v(1), v(2), v(2)), func(f *Figure) { f.X.Scale = Log10 }), "logarithmic x axis: 1 of 3 values", ""},
		{"log axis, depth at 0", with(line(Depth, v(0, 1), v(1, 2), v(1, 2)), func(f *Figure) { f.X.Scale = Log2 }), "logarithmic x axis: 1 of 2 values", ""},
		{"log axis, length", with(line(Length, one, v(0)), func(f *Figure) { log(f); f.Y.Min, f.Y.Max = 0.1, 1 }), "at or below 0 on a logarithmic axis: 1 of 1 points", ""},
		{"log axis, panel", Figure{Kind: Multiples, Title: "edge", Panels: []Figure{with(line(Lines, v(1, 2), v(0), v(-1)), log)}}, "", "y axis is logarithmic and none of its"},
		{"log axis, spectrum", with(line(Spectrum, one, v(0.5)), log), "", "needs a linear y axis"},
		{"published depth alone", with(line(Depth, one, v(2)), func(f *Figure) { f.Series[0].Source = "a paper" }), "a, published (a paper)", ""},
		{"published alone", with(line(Lines, one, v(2)), func(f *Figure) { f.Series[0].Source = "a paper" }), "a, published (a paper)", ""},
		{"published curve", with(line(Training, one, v(2)), func(f *Figure) { f.Series[0].Source = "a paper" }), "", "cannot show published values"},
		{"smoothing over no point", with(line(Training, one, v(1)), func(f *Figure) { f.Smooth = 0.5 }), "", "smooth = 0.5: must be 1 to"},
		{"bars on a log axis", with(with(line(Bars, one, v(3)), named), log), "", "a logarithmic axis does not have"},
		{"bars without names", line(Bars, one, v(3)), "", "must name the categories"},
		{"bar beyond the names", with(line(Bars, v(7), v(3)), named), "", "x = 7: must be the number of a category"},
		{"equal values", line(Lines, v(1, 1), v(2, 2), v(2, 2)), "n = 2", ""},
		{"huge values", line(Lines, v(1, 2), v(-1.7e308), v(1.7e308)), "", "too far"},
		{"large values", line(Lines, v(1, 2), v(1e300), v(2e300)), "10", ""},
		{"tiny differences", line(Lines, v(1, 2), v(1), v(math.Nextafter(1, 2))), "n = 1", ""},
		{"control characters", with(line(Lines, one, v(1)), func(f *Figure) { f.Series[0].Name = "a\x00\xff<&>\n" }), "n = 1", ""},
		{"range on a log axis", with(line(Scaling, one, v(1)), func(f *Figure) { f.Y.Min, f.Y.Max = -1, 5 }), "", "above 0 on a logarithmic axis"},
		{"range beside the data", with(line(Lines, one, v(1)), func(f *Figure) { f.Y.Min, f.Y.Max = 5, 6 }), "n = 1", ""},
	} {
		for _, style := range []Style{Paper(), styled("talk-dark")} {
			svg, err := c.fig.SVG(style)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) || strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: error %v, want one line with %q", c.name, err, c.fails)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			text, err := written(svg)
			if err != nil {
				t.Errorf("%s: not valid XML: %v", c.name, err)
			}
			if !strings.Contains(text, c.shows) {
				t.Errorf("%s: %q does not say %q", c.name, text, c.shows)
			}
			if bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
				t.Errorf("%s: the drawing has coordinates that are no numbers", c.name)
			}
		}
	}
}

func (f Figure) untitled() Figure { f.Title = " "; return f }

// written is the text of an SVG in the order of drawing, a space for each break.
func written(svg []byte) (string, error) {
	d := xml.NewDecoder(bytes.NewReader(svg))
	var words []string
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return strings.Join(words, " "), nil
		}
		if err != nil {
			return "", err
		}
		if s, ok := tok.(xml.CharData); ok && strings.TrimSpace(string(s)) != "" {
			words = append(words, strings.TrimSpace(string(s)))
		}
	}
}

func TestStyles(t *testing.T) {
	f := lengthFigure()
	for _, s := range Styles() {
		if _, err := f.SVG(s); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
	if _, err := StyleNamed("poster"); err == nil || !strings.Contains(err.Error(), "known are paper, ") {
		t.Errorf("unknown style: %v", err)
	}
	if _, err := f.SVG(Style{}); err == nil {
		t.Error("a style without a size draws")
	}
}
