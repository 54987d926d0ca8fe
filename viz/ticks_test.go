package viz

import (
	"math"
	"strings"
	"testing"
)

func labels(ticks []Tick) string {
	var out []string
	for _, t := range ticks {
		if t.Label != "" {
			out = append(out, t.Label)
		}
	}
	return strings.Join(out, " ")
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		name  string
		ticks []Tick
		want  string
	}{
		{"linear", linearTicks(-0.03, 1.03, 5), "0.0 0.2 0.4 0.6 0.8 1.0"},
		{"negative", linearTicks(-1, 1, 4), "−1.0 −0.5 0.0 0.5 1.0"},
		{"large", linearTicks(0, 4e6, 4), "0 1×10⁶ 2×10⁶ 3×10⁶ 4×10⁶"},
		{"tiny", linearTicks(0, 2e-7, 2), "0 1×10⁻⁷ 2×10⁻⁷"},
		{"under one decade", logTicks(2, 9), "2 3 4 5 6 7 8 9"},
		{"under two decades", logTicks(1, 60), "1 2 5 10 20 50"},
		{"below one", logTicks(0.002, 0.05), "0.002 0.005 0.01 0.02 0.05"},
		{"decades", logTicks(0.01, 1e4), "10⁻² 10⁻¹ 10⁰ 10¹ 10² 10³ 10⁴"},
		{"no round number inside", logTicks(1.1, 1.9), "1.2 1.4 1.6 1.8"},
		{"powers of two", log2Ticks(64, 1024), "64 128 256 512 1024"},
		{"long powers of two", log2Ticks(1<<15, 1<<18), "2¹⁵ 2¹⁶ 2¹⁷ 2¹⁸"},
		{"less than an octave", log2Ticks(5, 7), "5.0 5.5 6.0 6.5 7.0"},
	} {
		if got := labels(c.ticks); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Whatever the range, a logarithmic axis has at least two labels.
func TestLogAxesAreLabelled(t *testing.T) {
	for low := 1e-9; low < 1e9; low *= 1.7 {
		for ratio := 1.01; ratio < 1e12; ratio *= 1.9 {
			if n := named(logTicks(low, low*ratio)); n < 2 {
				t.Fatalf("[%g, %g]: %d labels", low, low*ratio, n)
			}
		}
	}
}

func TestThinKeepsLabelsApart(t *testing.T) {
	ticks := Categories(strings.Split(strings.Repeat("wide ", 40), " ")[:40]...)
	at := func(t Tick) float64 { return t.At * 3 }
	thin(ticks, at, func(Tick) float64 { return 20 })
	last := math.Inf(-1)
	for _, k := range ticks {
		if k.Label != "" {
			if at(k)-last < 20 {
				t.Fatalf("labels at %g and %g touch", last, at(k))
			}
			last = at(k)
		}
	}
	if named(ticks) < 5 {
		t.Errorf("only %d labels left of 40", named(ticks))
	}
}
