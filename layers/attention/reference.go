package attention

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/kalmarz/kalmarz/layers/check"
)

// Arrays is one problem in float64, row-major.
type Arrays struct {
	B, T, H, J, K int
	Window        int       // 0 for none
	Q             []float64 // [B,T,H,K]
	Key, Value    []float64 // [B,T,J,K]
}

// Random makes a problem with normal entries.
func Random(rng *rand.Rand, B, T, H, J, K, window int) *Arrays {
	random := func(heads int) []float64 { return check.Random(rng, 1, B*T*heads*K).Values }
	return &Arrays{B: B, T: T, H: H, J: J, K: K, Window: window, Q: random(H), Key: random(J), Value: random(J)}
}

// Check reports sizes that do not fit.
func (a *Arrays) Check() error {
	if min(a.B, a.T, a.H, a.J, a.K) < 1 || a.H%a.J != 0 || a.Window < 0 {
		return fmt.Errorf("attention: B=%d, T=%d, H=%d, J=%d, K=%d, window=%d: each must be at least 1, J must divide H, and the window be at least 0", a.B, a.T, a.H, a.J, a.K, a.Window)
	}
	n := a.B * a.T * a.K
	if len(a.Q) != n*a.H || len(a.Key) != n*a.J || len(a.Value) != n*a.J {
		return fmt.Errorf("attention: q, k, v have %d, %d, %d values, expected %d, %d, %d", len(a.Q), len(a.Key), len(a.Value), n*a.H, n*a.J, n*a.J)
	}
	return nil
}

// each calls visit for each token of each head, with the places of its query and of
// the first key that it sees in their arrays, and its probabilities.
func (a *Arrays) each(visit func(q, first int, p []float64)) {
	keys := a.J * a.K // a token
	for b := range a.B {
		for t := range a.T {
			for h := range a.H {
				q := ((b*a.T+t)*a.H + h) * a.K
				own := (b*a.T+t)*keys + h/(a.H/a.J)*a.K
				n := t + 1
				if a.Window > 0 {
					n = min(n, a.Window)
				}
				first := own - (n-1)*keys
				p, top, sum := make([]float64, n), math.Inf(-1), 0.0
				for s := range p {
					p[s] = floats.Dot(a.Q[q:q+a.K], a.Key[first+s*keys:][:a.K]) / math.Sqrt(float64(a.K))
					top = max(top, p[s])
				}
				for s := range p {
					p[s] = math.Exp(p[s] - top)
					sum += p[s]
				}
				for s := range p {
					p[s] /= sum
				}
				visit(q, first, p)
			}
		}
	}
}

// Reference returns o [B,T,H,K] by the definition.
func Reference(a *Arrays) ([]float64, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	o := make([]float64, len(a.Q))
	a.each(func(q, first int, p []float64) {
		for s, p := range p {
			floats.AddScaled(o[q:q+a.K], p, a.Value[first+s*a.J*a.K:][:a.K])
		}
	})
	return o, nil
}

// ReferenceGradient returns the gradients of q, k and v for that of o.
func ReferenceGradient(a *Arrays, do []float64) (*Arrays, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	d := &Arrays{B: a.B, T: a.T, H: a.H, J: a.J, K: a.K, Window: a.Window,
		Q: make([]float64, len(a.Q)), Key: make([]float64, len(a.Key)), Value: make([]float64, len(a.Value))}
	a.each(func(q, first int, p []float64) {
		dp, mean := make([]float64, len(p)), 0.0
		for s := range p {
			dp[s] = floats.Dot(do[q:q+a.K], a.Value[first+s*a.J*a.K:][:a.K])
			mean += p[s] * dp[s]
		}
		for s := range p {
			at := first + s*a.J*a.K
			g := p[s] * (dp[s] - mean) / math.Sqrt(float64(a.K))
			floats.AddScaled(d.Value[at:at+a.K], p[s], do[q:q+a.K])
			floats.AddScaled(d.Q[q:q+a.K], g, a.Key[at:at+a.K])
			floats.AddScaled(d.Key[at:at+a.K], g, a.Q[q:q+a.K])
		}
	})
	return d, nil
}
