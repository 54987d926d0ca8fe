package viz

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

func TestSummarize(t *testing.T) {
	same := func(a, b float64) bool {
		return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-12*max(1, math.Abs(b))
	}
	// Half-widths from printed t tables: 12.7062 (1 degree of freedom),
	// 4.302653 (2), 2.776445 (4), times sd / sqrt(n).
	for _, c := range []struct {
		name   string
		values []float64
		n      int
		lost   int
		mean   float64
		sd     float64
		t      float64
	}{
		{"none", nil, 0, 0, nan, nan, nan},
		{"one", []float64{2}, 1, 0, 2, nan, nan},
		{"two", []float64{1, 3}, 2, 0, 2, math.Sqrt2, 12.7062047364},
		{"three", []float64{1, 2, 3}, 3, 0, 2, 1, 4.3026527300},
		{"five", []float64{2, 4, 4, 4, 6}, 5, 0, 4, math.Sqrt2, 2.7764451052},
		{"two of five lost", []float64{nan, 1, 2, inf, 3}, 3, 2, 2, 1, 4.3026527300},
		{"all lost", []float64{nan, -inf}, 0, 2, nan, nan, nan},
	} {
		s := Summarize(c.values)
		half := c.t * c.sd / math.Sqrt(float64(c.n))
		if s.N != c.n || s.Lost != c.lost || !same(s.Mean, c.mean) || !same(s.SD, c.sd) {
			t.Errorf("%s: got %+v, want n %d lost %d mean %g sd %g", c.name, s, c.n, c.lost, c.mean, c.sd)
		}
		if math.IsNaN(half) != math.IsNaN(s.Half) || math.Abs(half-s.Half) > 1e-9*half {
			t.Errorf("%s: half-width %g, want %g", c.name, s.Half, half)
		}
	}
}

func TestCaptionNamesRuns(t *testing.T) {
	f := lengthFigure()
	sh, err := f.layOut(newTheme(Paper(), false))
	if err != nil {
		t.Fatal(err)
	}
	caption := strings.Join(sh.caption, " ")
	for _, want := range []string{"95 % Student-t interval", "n = 5: softmax, gdn, kaczmarz", "n = 3 (2 of 5 diverged): deltanet", "n = 1, no interval: gla"} {
		if !strings.Contains(caption, want) {
			t.Errorf("caption %q lacks %q", caption, want)
		}
	}
}

func TestCaptionKeepsNumbersTogether(t *testing.T) {
	th := newTheme(Paper(), false)
	f := face{size: 8}
	for room := vg.Length(40); room < 200; room += 3 {
		lines := th.wrap(f, "mean over seeds; n = 3: gdn; n = 12 to 15: kaczmarz.", room)
		for _, l := range lines {
			if strings.HasSuffix(l, " n") || strings.HasPrefix(l, "=") || strings.HasSuffix(l, "=") {
				t.Fatalf("%g pt: %q", room.Points(), lines)
			}
		}
	}
}
