package viz

import (
	"math"
	"testing"
)

// Equal steps look equal, every colour exists on a screen, and the order
// survives in grey.
func TestColorMaps(t *testing.T) {
	const n = 200
	for _, c := range []struct {
		name string
		m    colorMap
		half int // steps after which lightness falls
	}{{"rising", rising, n}, {"two-sided", twoSided, n / 2}} {
		low, high := math.Inf(1), 0.0
		for i := 0; i <= n; i++ {
			p := c.m.at(float64(i) / n)
			for _, v := range p.linear() {
				if v < -0.012 || v > 1.012 {
					t.Errorf("%s: colour %d is outside sRGB: %v", c.name, i, p.linear())
				}
			}
			if i == 0 {
				continue
			}
			q := c.m.at(float64(i-1) / n)
			d := p.distance(q)
			low, high = min(low, d), max(high, d)
			if up := p.l > q.l; up != (i <= c.half) {
				t.Errorf("%s: lightness at step %d goes from %g to %g", c.name, i, q.l, p.l)
			}
		}
		// The two arms of the two-sided map differ a little in length, and a
		// step across a corner of the path is shorter than along it.
		if high/low > 1.25 {
			t.Errorf("%s: steps from %g to %g: must be even", c.name, low, high)
		}
	}
}
