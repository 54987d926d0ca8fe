package kalman

import (
	"fmt"
	"math"
)

// Arrays is one problem in float64, row-major.
type Arrays struct {
	B, T, M, S   int
	V, Precision []float64 // [B,T,M]
	K, Q         []float64 // [B,T,S]
	A, P         []float64 // [M,S]
	Lambda, Eta  []float64 // [B,M,S] before the first token; nil for 1 and 0
}

// Result holds what the filter returns, or the gradients of these.
type Result struct {
	Y, YVar     []float64 // [B,T,M]
	Lambda, Eta []float64 // [B,M,S] after the last token
}

// Check reports the first array with a wrong length or a value out of its
// range, naming it and its place.
func (a *Arrays) Check() error {
	if min(a.B, a.T, a.M, a.S) < 1 {
		return fmt.Errorf("kalman: B=%d, T=%d, M=%d, S=%d: each must be at least 1", a.B, a.T, a.M, a.S)
	}
	real := func(v float64) bool { return !math.IsInf(v, 0) && !math.IsNaN(v) }
	positive := func(v float64) bool { return real(v) && v > 0 }
	BTM, BTS, MS, BMS := []int{a.B, a.T, a.M}, []int{a.B, a.T, a.S}, []int{a.M, a.S}, []int{a.B, a.M, a.S}
	for _, x := range []struct {
		name   string
		values []float64
		dims   []int
		legal  func(float64) bool
		what   string
	}{
		{"v", a.V, BTM, real, "finite"},
		{"precision", a.Precision, BTM, positive, "finite and greater than 0"},
		{"k", a.K, BTS, real, "finite"},
		{"q", a.Q, BTS, real, "finite"},
		{"a", a.A, MS, func(v float64) bool { return v >= 0 && v <= 1 }, "in [0, 1]"},
		{"p", a.P, MS, func(v float64) bool { return real(v) && v >= 0 }, "finite and at least 0"},
		{"state lambda", a.Lambda, BMS, positive, "finite and greater than 0"},
		{"state eta", a.Eta, BMS, real, "finite"},
	} {
		if x.values == nil && (x.name == "state lambda" || x.name == "state eta") {
			continue
		}
		size := 1
		for _, d := range x.dims {
			size *= d
		}
		if len(x.values) != size {
			return fmt.Errorf("kalman: %s has %d values, expected %d for dimensions %v", x.name, len(x.values), size, x.dims)
		}
		for i, v := range x.values {
			if !x.legal(v) {
				return fmt.Errorf("kalman: %s = %g at %v of %v: must be %s", x.name, v, unravel(i, x.dims), x.dims, x.what)
			}
		}
	}
	return nil
}

func unravel(i int, dims []int) []int {
	at := make([]int, len(dims))
	for d := len(dims) - 1; d >= 0; d-- {
		at[d], i = i%dims[d], i/dims[d]
	}
	return at
}

// lane is the filter of one batch row, channel and state.
type lane struct {
	a           *Arrays
	b, m, s     int
	lambda, eta []float64 // [T+1], from the initial state on
}

func (l *lane) channel(x []float64, t int) *float64 { return &x[(l.b*l.a.T+t)*l.a.M+l.m] }
func (l *lane) index(x []float64, t int) *float64   { return &x[(l.b*l.a.T+t)*l.a.S+l.s] }
func (l *lane) static(x []float64) *float64         { return &x[l.m*l.a.S+l.s] }
func (l *lane) state(x []float64) *float64          { return &x[(l.b*l.a.M+l.m)*l.a.S+l.s] }

func (a *Arrays) lanes(f func(*lane)) {
	for b := range a.B {
		for m := range a.M {
			for s := range a.S {
				f(&lane{a: a, b: b, m: m, s: s})
			}
		}
	}
}

func (a *Arrays) result() *Result {
	n := a.B * a.M
	return &Result{make([]float64, n*a.T), make([]float64, n*a.T), make([]float64, n*a.S), make([]float64, n*a.S)}
}

// Reference runs the filter token by token in float64; with prior it reads the
// prediction for the next token.
func Reference(a *Arrays, prior bool) (*Result, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	r := a.result()
	a.lanes(func(l *lane) {
		l.filter()
		decay, noise := *l.static(a.A), *l.static(a.P)
		for t := range a.T {
			mean, variance := l.eta[t+1]/l.lambda[t+1], 1/l.lambda[t+1]
			if prior {
				mean, variance = decay*mean, decay*decay*variance+noise
			}
			q := *l.index(a.Q, t)
			*l.channel(r.Y, t) += q * mean
			*l.channel(r.YVar, t) += q * q * variance
		}
		*l.state(r.Lambda), *l.state(r.Eta) = l.lambda[a.T], l.eta[a.T]
	})
	return r, nil
}

func (l *lane) filter() {
	lambda, eta := 1.0, 0.0
	if l.a.Lambda != nil {
		lambda = *l.state(l.a.Lambda)
	}
	if l.a.Eta != nil {
		eta = *l.state(l.a.Eta)
	}
	l.lambda, l.eta = append(l.lambda, lambda), append(l.eta, eta)
	a, p := *l.static(l.a.A), *l.static(l.a.P)
	for t := range l.a.T {
		v, precision, k := *l.channel(l.a.V, t), *l.channel(l.a.Precision, t), *l.index(l.a.K, t)
		c := max(a*a, floor) + p*lambda
		lambda = lambda/c + precision*k*k
		eta = a/c*eta + v*precision*k
		l.lambda, l.eta = append(l.lambda, lambda), append(l.eta, eta)
	}
}
