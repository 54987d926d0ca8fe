package scan

import (
	"fmt"
	"math"
)

// Arrays is one scan in float64: T maps of F lanes, row-major [T,F], and the
// state before the first. Only a Möbius scan has C and D.
type Arrays struct {
	Map        Map
	T, F       int
	A, B, C, D []float64 // [T,F]
	X0         []float64 // [F]
}

// Check reports the first array with a wrong length or a value that is not
// finite or, in a Möbius scan, negative.
func (a *Arrays) Check() error {
	if a.T < 1 || a.F < 1 {
		return fmt.Errorf("scan: T=%d, F=%d: must be at least 1", a.T, a.F)
	}
	for _, x := range []struct {
		name   string
		values []float64
		length int
	}{{"a", a.A, a.T * a.F}, {"b", a.B, a.T * a.F}, {"c", a.C, a.T * a.F}, {"d", a.D, a.T * a.F}, {"x0", a.X0, a.F}} {
		if (x.name == "c" || x.name == "d") && a.Map != MoebiusMap {
			continue
		}
		if len(x.values) != x.length {
			return fmt.Errorf("scan: %s has %d values, expected %d (T=%d, F=%d)", x.name, len(x.values), x.length, a.T, a.F)
		}
		for i, v := range x.values {
			if math.IsNaN(v) || math.IsInf(v, 0) || a.Map == MoebiusMap && v < 0 {
				return fmt.Errorf("scan: %s = %g at token %d, lane %d: must be finite (and not negative in a Möbius scan)", x.name, v, i/a.F, i%a.F)
			}
		}
	}
	return nil
}

// Reference returns the states after each map [T,F], one by one.
func Reference(a *Arrays) ([]float64, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	out := make([]float64, a.T*a.F)
	for i := range out {
		x := a.before(out, i)
		switch a.Map {
		case AffineMap:
			out[i] = a.A[i]*x + a.B[i]
		case MoebiusMap:
			out[i] = (a.A[i]*x + a.B[i]) / (a.C[i]*x + a.D[i])
		case MaxPlusMap:
			out[i] = max(x+a.A[i], a.B[i])
		}
	}
	return out, nil
}

// before returns the state before map i.
func (a *Arrays) before(xs []float64, i int) float64 {
	if i < a.F {
		return a.X0[i]
	}
	return xs[i-a.F]
}

// ReferenceGradient returns the gradients of all inputs, given those of the
// states [T,F].
func ReferenceGradient(a *Arrays, d []float64) (*Arrays, error) {
	xs, err := Reference(a)
	if err != nil {
		return nil, err
	}
	n := a.T * a.F
	g := &Arrays{Map: a.Map, T: a.T, F: a.F, A: make([]float64, n), B: make([]float64, n), X0: make([]float64, a.F)}
	if a.Map == MoebiusMap {
		g.C, g.D = make([]float64, n), make([]float64, n)
	}
	for i := n - 1; i >= 0; i-- {
		x, r := a.before(xs, i), &g.X0[i%a.F]
		*r += d[i] // the gradient of the state after map i, then of that before
		switch a.Map {
		case AffineMap:
			g.A[i], g.B[i] = *r*x, *r
			*r *= a.A[i]
		case MoebiusMap:
			den := a.C[i]*x + a.D[i]
			b := *r / den
			g.A[i], g.B[i], g.C[i], g.D[i] = b*x, b, -b*xs[i]*x, -b*xs[i]
			*r = b * (a.A[i]*a.D[i] - a.B[i]*a.C[i]) / den
		case MaxPlusMap:
			if x+a.A[i] >= a.B[i] {
				g.A[i] = *r
			} else {
				g.B[i], *r = *r, 0
			}
		}
	}
	return g, nil
}
