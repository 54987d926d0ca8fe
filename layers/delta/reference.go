package delta

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// Arrays is one problem in float64: the recurrence's inputs, row-major.
type Arrays struct {
	B, T, H, K, V int
	Q, Key        []float64 // [B,T,H,K]; queries are scaled already
	Erase         []float64 // [B,T,H,K], or nil for none; it may be Key itself, whose gradient then counts both
	Write         []float64 // [B,T,H,V]
	Rate          []float64 // [B,T,H], or nil for 1: u = rate (write - S̃ᵀ erase)
	LogDecay      []float64 // nil, [B,T,H] or [B,T,H,K]; at most 0
	State         []float64 // [B,H,K,V] before the first token; nil for zeros
}

// Result holds what the recurrence returns, or the gradients of these.
type Result struct {
	O     []float64 // [B,T,H,V]
	State []float64 // [B,H,K,V] after the last token
	U     []float64 // [B,T,H,V], the pseudo-values that were written
}

// decays tells how many log-decays a token and head has: 0, 1 or K.
func (a *Arrays) decays() int { return len(a.LogDecay) / (a.B * a.T * a.H) }

// Check reports the first array with a wrong length or a value that is not
// finite, and the first log-decay above 0, naming its place.
func (a *Arrays) Check() error {
	if min(a.B, a.T, a.H, a.K, a.V) < 1 {
		return fmt.Errorf("delta: B=%d, T=%d, H=%d, K=%d, V=%d: each must be at least 1", a.B, a.T, a.H, a.K, a.V)
	}
	n := a.B * a.T * a.H
	for _, x := range []struct {
		name     string
		values   []float64
		optional bool
		lengths  []int
	}{
		{"q", a.Q, false, []int{n * a.K}},
		{"k", a.Key, false, []int{n * a.K}},
		{"erase", a.Erase, true, []int{n * a.K}},
		{"write", a.Write, false, []int{n * a.V}},
		{"rate", a.Rate, true, []int{n}},
		{"log-decay", a.LogDecay, true, []int{n, n * a.K}},
		{"state", a.State, true, []int{a.B * a.H * a.K * a.V}},
	} {
		if x.values == nil && x.optional {
			continue
		}
		if l := len(x.values); l != x.lengths[0] && l != x.lengths[len(x.lengths)-1] {
			return fmt.Errorf("delta: %s has %d values, expected %d (B=%d, T=%d, H=%d, K=%d, V=%d)",
				x.name, l, x.lengths[0], a.B, a.T, a.H, a.K, a.V)
		}
		for i, v := range x.values {
			switch {
			case x.name == "log-decay" && v > 0:
				i /= a.decays()
				return fmt.Errorf("delta: log-decay = %g at batch row %d, token %d, head %d: must be at most 0",
					v, i/(a.T*a.H), i/a.H%a.T, i%a.H)
			case math.IsNaN(v) || math.IsInf(v, 0) && x.name != "log-decay":
				return fmt.Errorf("delta: %s = %g at index %d: must be finite", x.name, v, i)
			}
		}
	}
	return nil
}

// shared tells whether keys erase, too.
func (a *Arrays) shared() bool { return len(a.Erase) > 0 && &a.Erase[0] == &a.Key[0] }

// head is one (batch row, head) of a problem, with its states kept.
type head struct {
	a      *Arrays
	b, h   int
	before [][]float64 // S̃_t, decayed and before the write
	after  [][]float64 // S_t; after[0] is the initial state
}

func (x *head) row(values []float64, t, width int) []float64 {
	i := ((x.b*x.a.T+t)*x.a.H + x.h) * width
	return values[i : i+width]
}

// alpha returns the decay factor of a key channel.
func (x *head) alpha(t, i int) float64 {
	switch x.a.decays() {
	case 0:
		return 1
	case 1:
		return math.Exp(x.row(x.a.LogDecay, t, 1)[0])
	}
	return math.Exp(x.row(x.a.LogDecay, t, x.a.K)[i])
}

// rate returns how much of the way a token writes.
func (x *head) rate(t int) float64 {
	if x.a.Rate == nil {
		return 1
	}
	return x.row(x.a.Rate, t, 1)[0]
}

// errorAt sets y to z_t - S̃ᵀ e_t for the state s = S̃_t.
func (x *head) errorAt(t int, s, y []float64) {
	copy(y, x.row(x.a.Write, t, x.a.V))
	if x.a.Erase == nil {
		return
	}
	for i, e := range x.row(x.a.Erase, t, x.a.K) {
		for j := range y {
			y[j] -= s[i*x.a.V+j] * e
		}
	}
}

// Reference evaluates the recurrence token by token in float64.
func Reference(a *Arrays) (*Result, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	r := newResult(a)
	for b := range a.B {
		for h := range a.H {
			(&head{a: a, b: b, h: h}).forward(r)
		}
	}
	return r, nil
}

func newResult(a *Arrays) *Result {
	n := a.B * a.H * a.V
	return &Result{O: make([]float64, n*a.T), State: make([]float64, n*a.K), U: make([]float64, n*a.T)}
}

func (x *head) forward(r *Result) {
	K, V := x.a.K, x.a.V
	s := make([]float64, K*V)
	if x.a.State != nil {
		copy(s, x.a.State[(x.b*x.a.H+x.h)*K*V:])
	}
	x.after = append(x.after, append([]float64{}, s...))
	for t := range x.a.T {
		q, k := x.row(x.a.Q, t, K), x.row(x.a.Key, t, K)
		u, o := x.row(r.U, t, V), x.row(r.O, t, V)
		for i := range K {
			for j := range V {
				s[i*V+j] *= x.alpha(t, i)
			}
		}
		x.before = append(x.before, append([]float64{}, s...))
		x.errorAt(t, s, u)
		for j := range u {
			u[j] *= x.rate(t)
		}
		for i := range K {
			for j := range V {
				s[i*V+j] += k[i] * u[j]
				o[j] += s[i*V+j] * q[i]
			}
		}
		x.after = append(x.after, append([]float64{}, s...))
	}
	copy(r.State[(x.b*x.a.H+x.h)*K*V:], s)
}

// ReferenceGradient returns the gradients of all inputs, given the gradients
// of the results; nil parts of d count as zero. With R the gradient of S_t:
//
//	dq_t = S_t do_t          R += q_t do_tᵀ
//	du_t = Rᵀ k_t + (d.U)_t  dk_t = R u_t     dz_t = ρ_t du_t
//	de_t = -S̃_t dz_t         R̃ = R - e_t dz_tᵀ
//	dρ_t = du_t·(z_t - S̃_tᵀ e_t)
//	dg_t = rows of R̃ ∘ S̃_t summed             R = α_t R̃
func ReferenceGradient(a *Arrays, d *Result) (*Arrays, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	n := a.B * a.T * a.H
	g := &Arrays{B: a.B, T: a.T, H: a.H, K: a.K, V: a.V,
		Q: make([]float64, n*a.K), Key: make([]float64, n*a.K), Write: make([]float64, n*a.V),
		State: make([]float64, a.B*a.H*a.K*a.V)}
	if a.Erase != nil {
		g.Erase = make([]float64, n*a.K)
	}
	if a.Rate != nil {
		g.Rate = make([]float64, n)
	}
	if a.LogDecay != nil {
		g.LogDecay = make([]float64, len(a.LogDecay))
	}
	r := newResult(a)
	for b := range a.B {
		for h := range a.H {
			x := &head{a: a, b: b, h: h}
			x.forward(r)
			x.backward(r, d, g)
		}
	}
	if a.shared() {
		floats.Add(g.Key, g.Erase)
		g.Erase = nil
	}
	return g, nil
}

func (x *head) backward(r, d *Result, g *Arrays) {
	K, V := x.a.K, x.a.V
	R := g.State[(x.b*x.a.H+x.h)*K*V:][:K*V]
	if d.State != nil {
		copy(R, d.State[(x.b*x.a.H+x.h)*K*V:])
	}
	zero := make([]float64, V)
	for t := x.a.T - 1; t >= 0; t-- {
		do, du := zero, append([]float64{}, zero...)
		if d.O != nil {
			do = x.row(d.O, t, V)
		}
		if d.U != nil {
			copy(du, x.row(d.U, t, V))
		}
		q, k, u := x.row(x.a.Q, t, K), x.row(x.a.Key, t, K), x.row(r.U, t, V)
		dq, dk := x.row(g.Q, t, K), x.row(g.Key, t, K)
		for i := range K {
			for j := range V {
				dq[i] += x.after[t+1][i*V+j] * do[j]
				R[i*V+j] += q[i] * do[j]
				du[j] += R[i*V+j] * k[i]
				dk[i] += R[i*V+j] * u[j]
			}
		}
		if x.a.Rate != nil {
			y := make([]float64, V)
			x.errorAt(t, x.before[t], y)
			x.row(g.Rate, t, 1)[0] = floats.Dot(du, y)
		}
		dz := x.row(g.Write, t, V)
		for j := range dz {
			dz[j] = x.rate(t) * du[j]
		}
		for i := range K {
			dg := 0.0
			for j := range V {
				before := x.before[t][i*V+j]
				if x.a.Erase != nil {
					x.row(g.Erase, t, K)[i] -= before * dz[j]
					R[i*V+j] -= x.row(x.a.Erase, t, K)[i] * dz[j]
				}
				dg += R[i*V+j] * before
				R[i*V+j] *= x.alpha(t, i)
			}
			switch x.a.decays() {
			case 1:
				x.row(g.LogDecay, t, 1)[0] += dg
			case K:
				x.row(g.LogDecay, t, K)[i] = dg
			}
		}
	}
}
