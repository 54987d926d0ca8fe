package viz

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// presetSeries is fixed data for each preset: several seeds, one of them
// diverged, and a series that the paper does not have.
func presetSeries(name string) []Series {
	r := rand.New(rand.NewPCG(31, 32))
	curve := func(name string, n int, x []float64, mean func(x float64) float64, spread float64) Series {
		s := Series{Name: name, X: x}
		for _, v := range x {
			s.Y = append(s.Y, seeds(r, mean(v), spread, n))
		}
		return s
	}
	times := []float64{1, 2, 4, 8}
	switch name {
	case "kaczmarz-mqar":
		out := []Series{
			curve("kaczmarz", 5, times, func(x float64) float64 { return 1 - 0.06*math.Log2(x) }, 0.02),
			curve("gdn", 5, times, func(x float64) float64 { return 1 - 0.09*math.Log2(x) }, 0.02),
			curve("deltanet", 5, times, func(x float64) float64 { return 0.9 - 0.2*math.Log2(x) }, 0.03),
		}
		for i := range times {
			out[2].Y[i][0] = nan
		}
		return out
	case "kaczmarz-perplexity":
		return []Series{
			curve("kaczmarz", 3, times, func(x float64) float64 { return 6.1 + 0.1*x }, 0.05),
			curve("gdn", 3, times, func(x float64) float64 { return 6.3 + 0.3*x }, 0.05),
			curve("softmax", 1, times, func(x float64) float64 { return 5.8 * x }, 0.05),
		}
	case "kalman-a5":
		k := []float64{3, 4, 6, 8, 12, 16, 20}
		a, b := Series{Name: "kalman", X: k}, Series{Name: "mamba2", X: k}
		for i := range k {
			a.Y = append(a.Y, []float64{float64(1 + i/5), 2, 1})
			b.Y = append(b.Y, []float64{float64(1 + i/2), inf, nan})
		}
		b.Y[5], b.Y[6] = []float64{inf, inf, nan}, []float64{inf, inf, nan}
		return []Series{a, b}
	case "kalman-mad":
		all := []float64{0, 1, 2, 3, 4, 5}
		out := []Series{
			curve("kalman", 3, all, func(x float64) float64 { return 0.7 + 0.05*x }, 0.02),
			curve("gdn", 3, all, func(x float64) float64 { return 0.5 + 0.06*x }, 0.02),
		}
		out[1].Y[3] = []float64{nan, nan, nan}
		return out
	case "kalman-ou":
		some := []float64{0, 1, 5}
		return []Series{
			curve("OU process noise", 3, some, func(x float64) float64 { return 0.8 }, 0.02),
			curve("no process noise", 3, some, func(x float64) float64 { return 0.7 }, 0.02),
		}
	case "routing-loss":
		return []Series{
			curve("gdn", 3, []float64{0, 1, 2, 6}, func(x float64) float64 { return -0.004 * min(x, 2) }, 0.002),
			curve("kda", 3, []float64{0, 1, 2}, func(x float64) float64 { return -0.003 * x }, 0.002),
		}
	}
	panic("no data for preset " + name)
}

func presetGoldens() (out []golden) {
	for _, p := range Presets() {
		f := p.Figure(presetSeries(p.Name)...)
		for _, style := range []string{"paper", "talk-dark"} {
			name := "preset-" + p.Name
			if style != "paper" {
				name += "-" + style
			}
			out = append(out, golden{name, styled(style), *f})
		}
	}
	return out
}

// Every line of the data belongs to a preset and has its place in it.
func TestPublishedValues(t *testing.T) {
	all, err := readPublished()
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, v := range all {
		p, err := PresetNamed(v.Preset)
		if err != nil {
			t.Errorf("%+v: %v", v, err)
			continue
		}
		count[p.Name]++
		_, notNumber := strconv.ParseFloat(v.At, 64)
		switch {
		case v.At == "" && p.bound == "":
			t.Errorf("%+v: holds everywhere, and preset %s has no name for that", v, p.Name)
		case v.At != "" && len(p.Categories) > 0 && !slices.Contains(p.Categories, v.At):
			t.Errorf("%+v: no category of %v", v, p.Categories)
		case v.At != "" && len(p.Categories) == 0 && notNumber != nil:
			t.Errorf("%+v: no position", v)
		case !strings.HasPrefix(v.Source, "arXiv "+p.Paper):
			t.Errorf("%+v: source is not the paper of preset %s, arXiv %s", v, p.Name, p.Paper)
		}
	}
	for _, p := range Presets() {
		if count[p.Name] == 0 || p.Doc == "" {
			t.Errorf("preset %s: %d published values, doc %q", p.Name, count[p.Name], p.Doc)
		}
	}
	for _, file := range []string{"a,b\n1,2,3", "preset,series,at,value,unit,source,setting\na,b,c,high,1,s,t", "h,h,h,h,h,h,h\na,b,c,1,1,,t"} {
		if _, err := parsePublished(file); err == nil {
			t.Errorf("%q is read", file)
		}
	}
}

// A preset draws published values as they are printed, with their source, and
// nothing of one's own under that name.
func TestPresetShowsPublished(t *testing.T) {
	for _, p := range Presets() {
		f := p.Figure(presetSeries(p.Name)...)
		svg, err := f.SVG(Paper())
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		text, err := written(svg)
		if err != nil || !strings.Contains(text, p.Paper) || !strings.Contains(text, "n = ") && !strings.Contains(text, "n =") {
			t.Errorf("%s: %v: %q lacks arXiv %s or n", p.Name, err, text, p.Paper)
		}
		drawn := 0
		for _, s := range f.Series {
			if s.Source != "" {
				drawn += len(s.X)
			}
		}
		if bounds := len(f.Guides) - len(p.frame.Guides); drawn+bounds != len(Published(p.Name)) {
			t.Errorf("%s: %d values and %d guides of %d published", p.Name, drawn, bounds, len(Published(p.Name)))
		}
	}
	f := mustPreset(t, "kaczmarz-mqar").Figure()
	if got := f.Series[0].Y[0][0]; f.Series[0].X[0] != 8 || math.Abs(got-0.7384) > 1e-12 {
		t.Errorf("published kaczmarz at %g: %g, want 0.7384 at 8", f.Series[0].X[0], got)
	}
	f = mustPreset(t, "kalman-ou").Figure()
	if got := f.X.Ticks; len(got) != 3 || got[2] != (Tick{2, "selective copy"}) || f.Series[0].X[2] != 2 {
		t.Errorf("categories %v at %v: want the three that have values", got, f.Series[0].X)
	}
}

func mustPreset(t *testing.T, name string) Preset {
	t.Helper()
	p, err := PresetNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What is asked of every kind holds for presets: no own data, one seed, only
// diverged runs, values without a place: a figure or an error that says it.
func TestPresetEdges(t *testing.T) {
	change := func(series []Series, value func(v float64, run int) float64, runs int) []Series {
		for i := range series {
			for j, y := range series[i].Y {
				series[i].Y[j] = nil
				for k := range min(runs, len(y)) {
					series[i].Y[j] = append(series[i].Y[j], value(y[k], k))
				}
			}
		}
		return series
	}
	keep := func(v float64, _ int) float64 {
		if !finite(v) {
			return 1
		}
		return v
	}
	for _, p := range Presets() {
		for _, c := range []struct {
			name   string
			own    []Series
			expect string // in the text or in the error; "" for a figure
		}{
			{"no series", nil, ""},
			{"series without a value", []Series{{Name: "a"}}, ""},
			{"one seed", change(presetSeries(p.Name), keep, 1), "n = 1, no interval"},
			{"all diverged", change(presetSeries(p.Name), func(float64, int) float64 { return nan }, 3), "diverged"},
			{"ragged", []Series{{Name: "a", X: []float64{0, 1}, Y: [][]float64{{1}}}}, "2 x values for 1 y values"},
			{"x is NaN", []Series{{Name: "a", X: []float64{nan}, Y: [][]float64{{1}}}}, "x[0] = NaN"},
		} {
			f := p.Figure(c.own...)
			svg, err := f.SVG(Paper())
			text := ""
			if err == nil {
				text, err = written(svg)
			}
			if err != nil {
				text = err.Error()
			}
			if !strings.Contains(text, c.expect) || c.expect == "" && err != nil && !strings.Contains(text, "no data") || strings.Contains(string(svg), "NaN") {
				t.Errorf("%s, %s: %v: %q does not say %q", p.Name, c.name, err, text, c.expect)
			}
		}
		if len(p.Categories) > 0 {
			if _, err := p.Figure(Series{Name: "a", X: []float64{99}, Y: [][]float64{{1}}}).SVG(Paper()); err == nil || !strings.Contains(err.Error(), "number of a category") {
				t.Errorf("%s: a place beyond the categories: %v", p.Name, err)
			}
		}
	}
	low := mustPreset(t, "kaczmarz-perplexity").Figure(Series{Name: "gdn", X: []float64{1, 2}, Y: [][]float64{{0}, {-1}}})
	svg, err := low.SVG(Paper())
	if text, _ := written(svg); err != nil || !strings.Contains(text, "at or below 0 on a logarithmic axis: 2 of") {
		t.Errorf("perplexity at or below 0: %v, %q", err, text)
	}
	if _, err := PresetNamed("kaczmarz-mqr"); err == nil || !strings.Contains(err.Error(), "known are kaczmarz-mqar, ") {
		t.Errorf("unknown preset: %v", err)
	}
}
