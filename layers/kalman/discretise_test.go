package kalman

import (
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
)

func TestDiscretisations(t *testing.T) {
	onPureGo(t)
	rates := []float64{0, 1e-12, 1e-8, 1e-4, 0.3, 2.4, 2.6, 1, 30, 1e4}
	const step, noise = 0.1, 0.01
	n := len(rates)
	ins := []check.Array{{Dims: []int{n}, Values: rates}, filled(n, step), filled(n, noise)}
	for _, d := range []Discretisation{OU, ZOH, None} {
		for dtype, tol := range map[dtypes.DType]float64{dtypes.Float64: 1e-14, dtypes.Float32: 3e-7} {
			outs, grads, err := check.Gradients(check.Backend(), dtype, func(x []*Node) []*Node {
				a, p := d.Discretise(x[0], x[1], x[2])
				return []*Node{a, p}
			}, ins, []check.Array{filled(n, 0), filled(n, 1)})
			if err != nil {
				t.Fatal(err)
			}
			for i, rate := range rates {
				a, p, err := d.ReferenceDiscretise(rate, step, noise)
				if err != nil {
					t.Fatal(err)
				}
				for j, want := range []float64{a, p} {
					if got := outs[j].Values[i]; math.Abs(got-want) > tol*want+1e-37 {
						t.Errorf("%s, %s, rate %g: output %d is %g, expected %g", d, dtype, rate, j, got, want)
					}
				}
				// dp/drate = n Δ E'(z) 2Δ, dp/dΔ = n e^-z, dp/dn = p/n
				z := 2 * rate * step
				wants := []float64{noise * step * 2 * step * slope(z), noise * math.Exp(-z), p / noise}
				if d != OU {
					wants = []float64{0, p / step, p / noise}
				}
				if d == None {
					wants = []float64{0, 0, 0}
				}
				// dp/dΔ is the sum of two terms of the size of p/Δ.
				sizes := []float64{math.Abs(wants[0]), p / step, math.Abs(wants[2])}
				for j, want := range wants {
					if got := grads[j].Values[i]; math.Abs(got-want) > 30*tol*sizes[j]+1e-37 {
						t.Errorf("%s, %s, rate %g: gradient %d is %g, expected %g", d, dtype, rate, j, got, want)
					}
				}
			}
		}
	}
	if got, err := ParseDiscretisation("zoh"); err != nil || got != ZOH {
		t.Errorf("ParseDiscretisation(zoh) = %v, %v", got, err)
	}
	if _, err := ParseDiscretisation("euler"); err == nil {
		t.Error("ParseDiscretisation(euler): expected an error")
	}
}

// slope is the derivative of (1 - e^-z) / z, by its series or, where that no
// longer converges fast, directly.
func slope(z float64) float64 {
	if z > 3 {
		return (math.Exp(-z) + math.Expm1(-z)/z) / z
	}
	sum, term := 0.0, 1.0 // (-z)^(n-1) / (n-1)!
	for n := 1.0; n < 60; n++ {
		sum -= term / (n + 1)
		term *= -z / n
	}
	return sum
}

func filled(n int, value float64) check.Array {
	a := check.Array{Dims: []int{n}, Values: make([]float64, n)}
	for i := range a.Values {
		a.Values[i] = value
	}
	return a
}

func TestOUWithoutDecay(t *testing.T) {
	// The naive form 1 - exp(-2λΔ) is 0 here in float32.
	outs, _, err := check.Gradients(check.Backend(), dtypes.Float32, func(x []*Node) []*Node {
		_, p := OU.Discretise(x[0], x[1], x[2])
		return []*Node{p}
	}, []check.Array{filled(1, 1e-8), filled(1, 0.1), filled(1, 0.01)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := outs[0].Values[0]; math.Abs(got-0.001) > 1e-9 {
		t.Errorf("p = %g, expected 0.001", got)
	}
}
