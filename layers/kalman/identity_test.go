package kalman

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
)

// single is one channel with one state that sees the same key and precision at
// each of T tokens.
func single(T int, a, p, precision, k float64) *Arrays {
	x := &Arrays{B: 1, T: T, M: 1, S: 1, A: []float64{a}, P: []float64{p}, Lambda: []float64{1}, Eta: []float64{0}}
	for t := range T {
		x.V, x.Precision = append(x.V, math.Sin(float64(t))), append(x.Precision, precision)
		x.K, x.Q = append(x.K, k), append(x.Q, 1)
	}
	return x
}

func TestPrecisionExample(t *testing.T) {
	onPureGo(t)
	for T, want := range map[int]float64{1: 1.412790698, 2: 1.854278075, 500: 4.879929947} {
		a := single(T, 0.9, 0.05, 1, 0.5)
		w := &Result{Y: make([]float64, T), YVar: make([]float64, T), Lambda: []float64{1}, Eta: []float64{0}}
		for name, plan := range plans {
			out, g := evaluate(t, a, Options{Plan: plan}, w, dtypes.Float64)
			if got := out.Lambda[0]; math.Abs(got-want) > 5e-10 {
				t.Errorf("%s: λ after %d tokens is %.10f, expected %.9f", name, T, got, want)
			}
			if got := g.Lambda[0]; T == 1 && math.Abs(got-1.0951865873) > 5e-11 {
				t.Errorf("%s: dλ'/dλ = %.11f, expected 1.0951865873", name, got)
			}
		}
	}
}

// Without decay and noise the filter is Bayesian linear regression of v on k:
// λ = 1 + ΣΛk², mean = ΣΛkv / λ.
func TestRegression(t *testing.T) {
	onPureGo(t)
	a := Random(rand.New(rand.NewPCG(3, 4)), 2, 40, 3, 4, false)
	for i := range a.A {
		a.A[i], a.P[i] = 1, 0
	}
	want := a.result()
	a.lanes(func(l *lane) {
		lambda, eta := 1.0, 0.0
		for t := range a.T {
			k, precision := *l.index(a.K, t), *l.channel(a.Precision, t)
			lambda += precision * k * k
			eta += precision * k * *l.channel(a.V, t)
			q := *l.index(a.Q, t)
			*l.channel(want.Y, t) += q * eta / lambda
			*l.channel(want.YVar, t) += q * q / lambda
		}
		*l.state(want.Lambda), *l.state(want.Eta) = lambda, eta
	})
	for name, plan := range plans {
		for _, second := range []Second{Mean, Information} {
			out, _ := evaluate(t, a, Options{Second: second, Plan: plan}, nil, dtypes.Float64)
			report(t, fmt.Sprintf("%s, %s", name, second), out.list(), want.list(), 1e-12)
		}
	}
}

// A key of 0 observes nothing: the state is only predicted, and the gradient
// to that key is what the equations say, not cut off by a floor.
func TestZeroKeyPredicts(t *testing.T) {
	onPureGo(t)
	a := single(1, 0.9, 0.05, 2, 0)
	a.V[0], a.Eta[0] = 3, 0.7
	w := &Result{Y: []float64{1}, YVar: []float64{0}, Lambda: []float64{0}, Eta: []float64{0}}
	lambda := 1 / (0.81 + 0.05)
	for name, plan := range plans {
		out, g := evaluate(t, a, Options{Plan: plan}, w, dtypes.Float64)
		if math.Abs(out.Lambda[0]-lambda) > 1e-15 || math.Abs(out.Eta[0]-0.9*0.7*lambda) > 1e-15 {
			t.Errorf("%s: state %g, %g after a token with k = 0", name, out.Lambda[0], out.Eta[0])
		}
		if want := 3 * 2 / lambda; math.Abs(g.K[0]-want) > 1e-12 { // dy/dk = vΛ/λ
			t.Errorf("%s: gradient to k = 0 is %g, expected %g", name, g.K[0], want)
		}
	}
}
