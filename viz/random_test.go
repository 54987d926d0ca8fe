package viz

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
)

// Random figures of every kind, sound or not, give a drawing or an error.
func TestRandomFigures(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	strange := []float64{nan, inf, -inf, 0, -1, 1e-300, 1e300, math.MaxFloat64}
	value := func() float64 {
		if r.IntN(6) == 0 {
			return strange[r.IntN(len(strange))]
		}
		return math.Exp(4 * r.NormFloat64())
	}
	values := func(n int) []float64 {
		v := make([]float64, r.IntN(n+1))
		for i := range v {
			v[i] = value()
		}
		return v
	}
	words := []string{"", "a", "η = 2", "10⁻³", "a very long name that fills more than one row of the legend of a narrow figure", "\x00<&>"}
	word := func() string { return words[r.IntN(len(words))] }
	var figure func(depth int) Figure
	figure = func(depth int) Figure {
		kinds := Kinds()
		f := Figure{Kind: kinds[r.IntN(len(kinds))], Title: "t" + word(), Caption: word(), Smooth: float64(r.IntN(3)) * value(), Columns: r.IntN(4)}
		f.X = Axis{Label: word(), Unit: "1", Scale: Scale(r.IntN(4))}
		f.Y = Axis{Label: "y" + word(), Unit: "1", Scale: Scale(r.IntN(4))}
		if r.IntN(3) == 0 {
			f.X.Ticks = Categories(words[:1+r.IntN(5)]...)
		}
		for range r.IntN(4) {
			s := Series{Name: "s" + word()}
			if r.IntN(5) == 0 {
				s.Source = "source"
			}
			for i := range r.IntN(6) {
				x := float64(i)
				if r.IntN(10) == 0 {
					x = value()
				}
				s.X, s.Y = append(s.X, x), append(s.Y, values(4))
			}
			f.Series = append(f.Series, s)
		}
		g := &Grid{Rows: words[:1+r.IntN(5)], Cols: words[:1+r.IntN(5)], Label: "z", Unit: "1", Signed: r.IntN(2) == 0}
		for range g.Rows {
			var row [][]float64
			for range g.Cols {
				row = append(row, values(3))
			}
			g.Cells = append(g.Cells, row)
		}
		f.Grid, f.Slopes = g, values(3)
		if r.IntN(2) == 0 {
			f.Guides = append(f.Guides, Guide{Label: word(), At: value(), Vertical: r.IntN(2) == 0})
		}
		for range r.IntN(5) * (1 - depth) {
			f.Panels = append(f.Panels, figure(1))
		}
		return f
	}
	styles := Styles()
	drawn := 0
	for range 600 {
		f := figure(0)
		svg, err := f.SVG(styles[r.IntN(len(styles))])
		if err != nil {
			continue
		}
		drawn++
		if _, err := written(svg); err != nil {
			t.Fatalf("%v\n%+v", err, f)
		}
		if bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
			t.Fatalf("coordinates that are no numbers\n%+v", f)
		}
		if _, err := f.CSV(); err != nil {
			t.Fatalf("drawn, but no CSV: %v", err)
		}
	}
	if drawn < 100 {
		t.Errorf("only %d of 600 figures were sound enough to be drawn: the test says too little", drawn)
	}
}
