package viz

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// The figures of the golden set: fixed data of every kind, with the cases that
// must show: one seed, diverged runs, missing cells, values without a place.

var nan, inf = math.NaN(), math.Inf(1)

// seeds makes n values around mean, the same ones each time.
func seeds(r *rand.Rand, mean, spread float64, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = mean + spread*r.NormFloat64()
	}
	return v
}

func lengthFigure() Figure {
	r := rand.New(rand.NewPCG(1, 2))
	f := Figure{Kind: Length, Title: "MQAR: accuracy beyond the trained length",
		X:      Axis{Label: "sequence length over trained length", Unit: "1", Ticks: []Tick{{1, "1x"}, {2, "2x"}, {4, "4x"}, {8, "8x"}}},
		Guides: []Guide{Chance(1.0 / 64)}}
	for _, s := range []struct {
		name string
		at   [4]float64
		n    int
	}{
		{"softmax", [4]float64{.99, .62, .31, .12}, 5}, {"deltanet", [4]float64{.97, .8, .55, .3}, 5},
		{"gdn", [4]float64{.98, .88, .7, .48}, 5}, {"kaczmarz", [4]float64{.99, .95, .88, .74}, 5}, {"gla", [4]float64{.6, .35, .2, .1}, 1},
	} {
		line := Series{Name: s.name, X: []float64{1, 2, 4, 8}}
		for _, m := range s.at {
			line.Y = append(line.Y, seeds(r, m, 0.03, s.n))
		}
		f.Series = append(f.Series, line)
	}
	for i := range f.Series[1].Y {
		f.Series[1].Y[i][0], f.Series[1].Y[i][3] = nan, nan
	}
	f.Series = append(f.Series, Series{Name: "kaczmarz", Source: "made-up source, Table 2", X: []float64{8}, Y: [][]float64{{0.81}}})
	return f
}

func trainingFigure() Figure {
	r := rand.New(rand.NewPCG(3, 4))
	f := Figure{Kind: Training, Title: "Training loss on MQAR"}
	for k, name := range []string{"η = 0.5", "η = 1", "η = 2"} {
		s := Series{Name: name}
		for i := range 200 {
			s.X = append(s.X, float64(i*10))
			s.Y = append(s.Y, seeds(r, 4.2*math.Exp(-float64(i)*float64(k+1)/100)+0.1*float64(k), 0.12, 4))
		}
		if k == 2 {
			for i := 70; i < 200; i++ {
				s.Y[i][1] = nan
				if i < 80 {
					s.Y[i][1] = math.Exp(float64(i-70)) + 1
				}
			}
		}
		f.Series = append(f.Series, s)
	}
	return f
}

func linesFigure() Figure {
	r := rand.New(rand.NewPCG(5, 6))
	f := Figure{Kind: Lines, Title: "Twelve series stay apart", X: Axis{Label: "step size η", Unit: "1"}, Y: Axis{Label: "validation loss", Unit: "nats per token"}}
	for k := range 12 {
		s := Series{Name: fmt.Sprintf("mixer %d", k+1)}
		for i := range 5 {
			s.X = append(s.X, float64(i)*0.5)
			s.Y = append(s.Y, seeds(r, 3+0.25*float64(k)+math.Pow(float64(i)-2, 2)*0.1, 0.02, 3))
		}
		f.Series = append(f.Series, s)
	}
	return f
}

func barsFigure() Figure {
	r := rand.New(rand.NewPCG(7, 8))
	f := Figure{Kind: Bars, Title: "MAD: accuracy by task", X: Axis{Ticks: Categories("compression", "fuzzy recall", "in-context recall", "memorization", "noisy recall", "selective copy")},
		Y: Axis{Label: "accuracy", Unit: "fraction correct", Min: 0, Max: 1.02}}
	for k, name := range []string{"gla", "gdn", "kalman"} {
		s := Series{Name: name}
		for i := range 6 {
			s.X = append(s.X, float64(i))
			s.Y = append(s.Y, seeds(r, 0.4+0.08*float64(i)+0.08*float64(k), 0.02, 3))
		}
		f.Series = append(f.Series, s)
	}
	f.Series[0].Y[3] = []float64{nan, nan, nan}
	f.Series = append(f.Series, Series{Name: "kalman", Source: "made-up source", X: []float64{0, 1}, Y: [][]float64{{.6}, {.7}}})
	return f
}

func differenceFigure() Figure {
	return Figure{Kind: Bars, Title: "Loss against the baseline (below 0 is better)", X: Axis{Ticks: Categories("CLER", "CLER-H", "CLVR", "shuffled")},
		Y: Axis{Label: "difference of loss", Unit: "nats per token"},
		Series: []Series{{Name: "routed − baseline", X: []float64{0, 1, 2, 3},
			Y: [][]float64{{-.012, -.010, -.015}, {-.018, -.016, -.017}, {-.007, -.004}, {.002, -.001, .001}}}}}
}

func heatFigure() Figure {
	r := rand.New(rand.NewPCG(9, 10))
	g := &Grid{Rows: []string{"0", "0.5", "1", "1.5", "2"}, Cols: []string{"10⁻⁶", "10⁻⁴", "10⁻²", "1"}, Label: "accuracy", Unit: "fraction correct"}
	for i := range g.Rows {
		var row [][]float64
		for j := range g.Cols {
			row = append(row, seeds(r, 0.3+0.15*float64(i)-0.05*float64(j*j), 0.01, 3))
		}
		g.Cells = append(g.Cells, row)
	}
	g.Cells[0][3], g.Cells[4][0], g.Cells[2][1][0] = nil, []float64{nan, nan, nan}, nan
	return Figure{Kind: Heat, Title: "Step size against regulariser", X: Axis{Label: "ε", Unit: "1"}, Y: Axis{Label: "η", Unit: "1"}, Grid: g}
}

func signedFigure() Figure {
	f := heatFigure()
	g := *f.Grid
	g.Signed, g.Label, g.Unit = true, "change of loss", "nats per token"
	g.Cells = nil
	for i := range g.Rows {
		var row [][]float64
		for j := range g.Cols {
			row = append(row, []float64{float64(i-2)*0.1 + float64(j)*0.02})
		}
		g.Cells = append(g.Cells, row)
	}
	f.Grid, f.Title = &g, "Two-sided colours around 0"
	return f
}

func depthFigure() Figure {
	x := []float64{3, 4, 6, 8, 12, 16, 20}
	rows := func(v ...[]float64) [][]float64 { return v }
	return Figure{Kind: Depth, Title: "A5: depth that state tracking needs", X: Axis{Label: "word length k", Unit: "tokens"}, Y: Axis{Max: 4},
		Series: []Series{
			{Name: "kalman", X: x, Y: rows([]float64{1, 1}, []float64{1, 1}, []float64{1, 1}, []float64{1, 2}, []float64{1, 1}, []float64{2, 2}, []float64{2, 2})},
			{Name: "gdn", X: x, Y: rows([]float64{1, 1}, []float64{1, 2}, []float64{2, 2}, []float64{2, 3}, []float64{3, inf}, []float64{4, nan}, []float64{inf, inf})},
			{Name: "softmax", X: x, Y: rows([]float64{1, 1}, []float64{2, 2}, []float64{3, 3}, []float64{4, inf}, []float64{inf, inf}, []float64{inf, inf}, []float64{inf, inf})},
			{Name: "kalman", Source: "made-up source", X: []float64{16, 20}, Y: rows([]float64{1}, []float64{1})},
		}}
}

func scalingFigure() Figure {
	f := Figure{Kind: Scaling, Title: "Prefill latency, one layer", Slopes: []float64{1, 2}}
	r := rand.New(rand.NewPCG(11, 12))
	for k, name := range []string{"softmax", "kaczmarz, chunked", "recurrent"} {
		s := Series{Name: name}
		for e := 7; e <= 17; e++ {
			T := math.Exp2(float64(e))
			y := []float64{2e-7*T*T + 0.02, 1.2e-3*T + 0.05, 0.02 * T}[k]
			s.X, s.Y = append(s.X, T), append(s.Y, []float64{y * (1 + 0.03*r.NormFloat64()), y, y * 1.02})
		}
		f.Series = append(f.Series, s)
	}
	f.Samples = "repetitions"
	return f
}

func decadeFigure() Figure {
	return Figure{Kind: Scaling, Title: "Less than a decade, and a value at 0", X: Axis{Label: "state size", Unit: "bytes", Scale: Log10}, Y: Axis{Label: "perplexity", Unit: "1"},
		Series: []Series{{Name: "gdn", X: []float64{2000, 4000, 8000, 16000}, Y: [][]float64{{62}, {44}, {31}, {0}}}}}
}

func tokensFigure() Figure {
	words := strings.Fields("the key of the red door is 7 and the key of the blue door is 9 so the red key \n is")
	words[21] = "\n"
	g := &Grid{Rows: []string{"gain", "uncertainty (nats)", "residual", "β‖k‖²"}, Cols: words}
	for i := range g.Rows {
		var row [][]float64
		for j := range words {
			row = append(row, []float64{math.Pow(10, float64(i-1)) * (1 + math.Sin(float64(j*(i+2))))})
		}
		g.Cells = append(g.Cells, row)
	}
	g.Cells[2][5] = nil
	return Figure{Kind: Tokens, Title: "What the filter does at each token", Samples: "sequences", Grid: g}
}

func spectrumFigure() Figure {
	r := rand.New(rand.NewPCG(13, 14))
	f := Figure{Kind: Spectrum, Title: "Transition spectrum over training"}
	for k, name := range []string{"η = 1", "η = 2"} {
		s := Series{Name: name}
		for i := range 21 {
			s.X = append(s.X, float64(i*100))
			s.Y = append(s.Y, seeds(r, 0.8-float64(k+1)*0.55*(1-math.Exp(-float64(i)/6)), 0.12*float64(k+1), 64))
		}
		f.Series = append(f.Series, s)
	}
	return f
}

func multiplesFigure() Figure {
	f := Figure{Kind: Multiples, Title: "The same test on five tasks", X: Axis{Label: "sequence length", Unit: "tokens"}, Guides: []Guide{Chance(0.1)}}
	for i, task := range []string{"MQAR", "S-NIAH 1", "S-NIAH 2", "selective copy", "A5"} {
		p := Figure{Kind: Length, Title: task}
		for k, s := range lengthFigure().Series[:4] {
			for j := range s.X {
				s.X[j] *= 64
				for n := range s.Y[j] {
					s.Y[j][n] = max(0, s.Y[j][n]-0.05*float64(i))
				}
			}
			if (k+i)%4 != 0 {
				p.Series = append(p.Series, s)
			}
		}
		f.Panels = append(f.Panels, p)
	}
	return f
}

func lostFigure() Figure {
	f := lengthFigure()
	f.Title, f.Series = "Nothing but diverged runs", f.Series[:1]
	for i := range f.Series[0].Y {
		f.Series[0].Y[i] = []float64{nan, nan, inf}
	}
	return f
}

type golden struct {
	name  string
	style Style
	fig   Figure
}

func styled(name string) Style {
	s, err := StyleNamed(name)
	if err != nil {
		panic(err)
	}
	return s
}

func goldens() []golden {
	return append([]golden{
		{"length", Paper(), lengthFigure()},
		{"length-talk-dark", styled("talk-dark"), lengthFigure()},
		{"length-lost", Paper(), lostFigure()},
		{"training", Paper(), trainingFigure()},
		{"training-notebook", Notebook(), trainingFigure()},
		{"lines", PaperWide(), linesFigure()},
		{"lines-dark", styled("notebook-dark"), linesFigure()},
		{"bars", Paper(), barsFigure()},
		{"bars-difference", PaperWide(), differenceFigure()},
		{"heat", Paper(), heatFigure()},
		{"heat-signed-dark", styled("notebook-dark"), signedFigure()},
		{"depth", Paper(), depthFigure()},
		{"scaling", Paper(), scalingFigure()},
		{"scaling-decade", Notebook(), decadeFigure()},
		{"tokens", PaperWide(), tokensFigure()},
		{"spectrum", Paper(), spectrumFigure()},
		{"multiples", PaperWide(), multiplesFigure()},
	}, presetGoldens()...)
}
