package kalman

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/kalmarz/kalmarz/layers/grad"
)

// Discretisation turns a process in continuous time, dx = -λx dt + √n dW with
// rate λ >= 0 and noise n >= 0, into the filter's a and p for a step Δ > 0:
//
//	OU    a = e^(-λΔ)    p = n (1 - e^(-2λΔ)) / 2λ      exact, for λ -> 0: nΔ
//	ZOH   a = e^(-λΔ)    p = nΔ                         noise held over the step
//	None  a = e^(-λΔ)    p = 1e-12                      as good as no noise
//
// Without any noise a state that decays becomes certain exponentially fast: its
// precision grows by e^(2λΔ) a token and leaves float32 after a few hundred.
// The noise of None bounds it by 1e12.
type Discretisation uint8

// The discretisations; the zero value is the paper's.
const (
	OU Discretisation = iota
	ZOH
	None
)

const negligible = 1e-12

var discretisations = []string{"ou", "zoh", "none"}

func (d Discretisation) String() string {
	if int(d) < len(discretisations) {
		return discretisations[d]
	}
	return fmt.Sprintf("Discretisation(%d)", d)
}

// ParseDiscretisation returns the discretisation with a name: ou, zoh or none.
func ParseDiscretisation(name string) (Discretisation, error) {
	for i, n := range discretisations {
		if n == name {
			return Discretisation(i), nil
		}
	}
	return 0, fmt.Errorf("kalman: discretisation %q: must be one of %v", name, discretisations)
}

// Discretise returns a and p, of the shape that rate, step and noise share.
func (d Discretisation) Discretise(rate, step, noise *Node) (a, p *Node) {
	if !step.Shape().Equal(rate.Shape()) || !noise.Shape().Equal(rate.Shape()) {
		exceptions.Panicf("kalman: step %s and noise %s: expected the shape of the rate, %s", step.Shape(), noise.Shape(), rate.Shape())
	}
	z := Mul(rate, step)
	a = Exp(Neg(z))
	switch d {
	case OU:
		return a, Mul(Mul(noise, step), averageDecay(MulScalar(z, 2)))
	case ZOH:
		return a, Mul(noise, step)
	case None:
		return a, AddScalar(ZerosLike(noise), negligible)
	}
	exceptions.Panicf("kalman: %s: must be ou, zoh or none", d)
	return nil, nil
}

// ReferenceDiscretise is Discretise for one state in float64.
func (d Discretisation) ReferenceDiscretise(rate, step, noise float64) (a, p float64, err error) {
	for _, x := range []struct {
		name  string
		value float64
		legal bool
	}{{"rate", rate, rate >= 0}, {"step", step, step > 0}, {"noise", noise, noise >= 0}} {
		if !x.legal || math.IsInf(x.value, 0) {
			return 0, 0, fmt.Errorf("kalman: %s = %g: must be finite, rate and noise at least 0, the step greater than 0", x.name, x.value)
		}
	}
	a = math.Exp(-rate * step)
	switch {
	case d == OU && rate > 0:
		return a, noise * -math.Expm1(-2*rate*step) / (2 * rate), nil
	case d == OU || d == ZOH:
		return a, noise * step, nil
	case d == None:
		return a, negligible, nil
	}
	return 0, 0, fmt.Errorf("kalman: %s: must be ou, zoh or none", d)
}

// averageDecay returns E(z) = (1 - e^-z) / z for z >= 0, the mean of a decay
// over a step; E(0) = 1. Its derivative (e^-z - E) / z cancels for small z, so
// there it is summed as the series Σ n (-1)^n z^(n-1) / (n+1)!.
func averageDecay(z *Node) *Node {
	const small, terms = 0.5, 14 // the first term left out is below 1e-16
	return grad.Custom([]*Node{z}, func(x []*Node) []*Node {
		zero := Equal(x[0], ScalarZero(x[0].Graph(), x[0].DType()))
		safe := Where(zero, OnesLike(x[0]), x[0])
		return []*Node{Where(zero, OnesLike(safe), Neg(Div(Expm1(Neg(safe)), safe)))}
	}, func(x, y, d []*Node) []*Node {
		z := x[0]
		series, factorial := ZerosLike(z), 1.0
		for n := 2; n <= terms; n++ {
			factorial *= float64(n)
		}
		for n := terms; n >= 1; n-- { // Horner
			c := float64(n) / (factorial * float64(n+1))
			if n%2 == 1 {
				c = -c
			}
			series = AddScalar(Mul(series, z), c)
			factorial /= float64(n)
		}
		near := LessThan(z, ConstAs(z, small))
		safe := Where(near, OnesLike(z), z)
		return []*Node{Mul(d[0], Where(near, series, Div(Sub(Exp(Neg(safe)), y[0]), safe)))}
	})[0]
}
