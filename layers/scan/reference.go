package scan

import (
	"fmt"
	"math"
)

// Arrays is one scan in float64: T maps of F lanes, row-major [T,F], and the
// state before the first. An affine scan has A and B, a Möbius scan all four.
type Arrays struct {
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
		if (x.name == "c" || x.name == "d") && a.C == nil && a.D == nil {
			continue
		}
		if len(x.values) != x.length {
			return fmt.Errorf("scan: %s has %d values, expected %d (T=%d, F=%d)", x.name, len(x.values), x.length, a.T, a.F)
		}
		for i, v := range x.values {
			if math.IsNaN(v) || math.IsInf(v, 0) || a.C != nil && v < 0 {
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
	x := append([]float64{}, a.X0...)
	for i := range out {
		f := i % a.F
		x[f] = a.A[i]*x[f] + a.B[i]
		if a.C != nil {
			before := a.X0[f]
			if i >= a.F {
				before = out[i-a.F]
			}
			x[f] /= a.C[i]*before + a.D[i]
		}
		out[i] = x[f]
	}
	return out, nil
}

// ReferenceGradient returns the gradients of all inputs, given those of the
// states [T,F].
func ReferenceGradient(a *Arrays, d []float64) (*Arrays, error) {
	xs, err := Reference(a)
	if err != nil {
		return nil, err
	}
	n := a.T * a.F
	g := &Arrays{T: a.T, F: a.F, A: make([]float64, n), B: make([]float64, n), X0: make([]float64, a.F)}
	if a.C != nil {
		g.C, g.D = make([]float64, n), make([]float64, n)
	}
	for i := n - 1; i >= 0; i-- {
		f := i % a.F
		before := a.X0[f]
		if i >= a.F {
			before = xs[i-a.F]
		}
		r := g.X0[f] + d[i] // gradient of the state after map i
		slope := a.A[i]
		if a.C != nil {
			den := a.C[i]*before + a.D[i]
			r /= den
			g.C[i], g.D[i] = -r*xs[i]*before, -r*xs[i]
			slope = (a.A[i]*a.D[i] - a.B[i]*a.C[i]) / den
		}
		g.A[i], g.B[i] = r*before, r
		g.X0[f] = r * slope
	}
	return g, nil
}
