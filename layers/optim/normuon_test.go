package optim_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/optim"
)

// matrix is a plain matrix [outputs][inputs], as the papers have it.
type matrix [][]float64

func newMatrix(m, n int, at func(i, j int) float64) matrix {
	x := make(matrix, m)
	for i := range x {
		x[i] = make([]float64, n)
		for j := range x[i] {
			x[i][j] = at(i, j)
		}
	}
	return x
}

func (x matrix) t() matrix {
	return newMatrix(len(x[0]), len(x), func(i, j int) float64 { return x[j][i] })
}

func (x matrix) times(y matrix) matrix {
	return newMatrix(len(x), len(y[0]), func(i, j int) (sum float64) {
		for k := range y {
			sum += x[i][k] * y[k][j]
		}
		return sum
	})
}

func (x matrix) norm() float64 {
	sum := 0.0
	for _, row := range x {
		for _, v := range row {
			sum += v * v
		}
	}
	return math.Sqrt(sum)
}

// plainMuon is one matrix under Muon or NorMuon, step by step as published.
type plainMuon struct {
	w, momentum matrix
	second      []float64 // of rows, or of columns
	rule        optim.Muon
	lr          float64
}

func (p *plainMuon) step(g matrix) {
	m, n, mu := len(g), len(g[0]), p.rule.Momentum
	p.momentum = newMatrix(m, n, func(i, j int) float64 { return mu*p.momentum[i][j] + (1-mu)*g[i][j] })
	x := newMatrix(m, n, func(i, j int) float64 {
		if p.rule.Nesterov {
			return (1-mu)*g[i][j] + mu*p.momentum[i][j]
		}
		return p.momentum[i][j]
	})
	size := x.norm() + 1e-7
	x = newMatrix(m, n, func(i, j int) float64 { return x[i][j] / size })
	for i := range p.rule.Iterations {
		c := p.rule.Coefficients[i%len(p.rule.Coefficients)]
		a := x.times(x.t())
		aa, ax := a.times(a), a.times(x)
		aax := aa.times(x)
		x = newMatrix(m, n, func(i, j int) float64 { return c[0]*x[i][j] + c[1]*ax[i][j] + c[2]*aax[i][j] })
	}
	s := map[optim.Scaling]float64{
		optim.Moonlight: 0.2 * math.Sqrt(float64(max(m, n))), optim.Jordan: math.Sqrt(math.Max(1, float64(m)/float64(n))),
		optim.Spectral: math.Sqrt(float64(max(m, n))),
	}[p.rule.Scaling]
	x = newMatrix(m, n, func(i, j int) float64 { return s * x[i][j] })
	if nor := p.rule.NorMuon; nor != nil {
		rows := m >= n || nor.Outputs
		mean := make([]float64, max(m, n))
		for i := range m {
			for j := range n {
				if rows {
					mean[i] += x[i][j] * x[i][j] / float64(n)
				} else {
					mean[j] += x[i][j] * x[i][j] / float64(m)
				}
			}
		}
		for i := range mean {
			p.second[i] = nor.Beta*p.second[i] + (1-nor.Beta)*mean[i]
		}
		y := newMatrix(m, n, func(i, j int) float64 {
			if rows {
				return x[i][j] / math.Sqrt(p.second[i])
			}
			return x[i][j] / math.Sqrt(p.second[j])
		})
		if nor.Restore {
			back := x.norm() / y.norm()
			y = newMatrix(m, n, func(i, j int) float64 { return back * y[i][j] })
		}
		x = y
	}
	p.w = newMatrix(m, n, func(i, j int) float64 {
		return (1-p.lr*p.rule.WeightDecay)*p.w[i][j] - p.lr*x[i][j]
	})
}

// TestMuonEqualsThePlainSteps follows Muon and NorMuon over four steps on
// matrices of both orientations, in float64.
func TestMuonEqualsThePlainSteps(t *testing.T) {
	const lr, wd = 0.02, 0.1
	for _, rule := range []optim.Muon{
		{Momentum: 0.95, Nesterov: true, Scaling: optim.Moonlight, Coefficients: optim.Simple, Iterations: 5},
		{Momentum: 0.8, Scaling: optim.Jordan, Coefficients: optim.Quintic, Iterations: 3},
		{Momentum: 0.95, Nesterov: true, Scaling: optim.Spectral, Coefficients: optim.Quintic, Iterations: 7},
		{Momentum: 0.95, Nesterov: true, Scaling: optim.Spectral, Coefficients: optim.Quintic, Iterations: 5, NorMuon: &optim.NorMuon{Beta: 0.95}},
		{Momentum: 0.95, Nesterov: true, Scaling: optim.Moonlight, Coefficients: optim.Simple, Iterations: 5, NorMuon: &optim.NorMuon{Beta: 0.9, Outputs: true}},
		{Momentum: 0.95, Nesterov: true, Scaling: optim.Moonlight, Coefficients: optim.Simple, Iterations: 5, NorMuon: &optim.NorMuon{Beta: 0.9, Restore: true}},
	} {
		rule.WeightDecay = wd
		for _, dims := range [][2]int{{3, 5}, {5, 3}, {4, 4}} {
			m, n := dims[0], dims[1]
			rng := rand.New(rand.NewPCG(uint64(m), uint64(n)))
			draw := func() matrix { return newMatrix(m, n, func(int, int) float64 { return rng.NormFloat64() }) }
			ours := func(x matrix) check.Array { // [inputs, outputs]
				a := check.Array{Dims: []int{n, m}}
				for j := range n {
					for i := range m {
						a.Values = append(a.Values, x[i][j])
					}
				}
				return a
			}
			plain := &plainMuon{w: draw(), rule: rule, lr: lr, second: make([]float64, max(m, n)), momentum: newMatrix(m, n, func(int, int) float64 { return 0 })}
			s := newStepper(t, []check.Array{ours(plain.w)}, func(g *Graph) *optim.Muon {
				u := muon(g, lr, wd, rule.Scaling)
				u.Momentum, u.Nesterov, u.Coefficients, u.Iterations, u.NorMuon = rule.Momentum, rule.Nesterov, rule.Coefficients, rule.Iterations, rule.NorMuon
				return u
			})
			for range 4 {
				g := draw()
				plain.step(g)
				s.step(ours(g))
			}
			if e := check.RelErr(s.value(0), ours(plain.w).Values); !(e < 1e-12) {
				t.Errorf("%s of [%d,%d]: off by %.2g", fmt.Sprintf("%+v", rule), m, n, e)
			}
		}
	}
}
