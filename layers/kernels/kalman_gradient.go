package kernels

// The gradient of the filter of kalman.go. With D, E the gradients of the mean and
// the variance after a token, those of the outputs included, e = v - k a μ what surprised the filter and F = E + D Λk e:
//
//	dv = Σ_s D P' Λk         dφ = -F P'²
//	dΛ = Σ_s D P' k e + dφ k²
//	dk = Σ_m D P' Λ (e - k a μ) + 2 dφ Λ k
//	da = D g μ + 2 a g² F P  dp = g² F
//	D <- a g D               E <- a² g² F

import (
	. "github.com/kalmarz/kalmarz/layers/triton"
)

func (Kalman) enterGradient(s, d []*Tile) []*Tile {
	P, mean, E, D := s[0], s[1], d[0], d[1]
	return []*Tile{P.Mul(P.Mul(E).Add(mean.Mul(D))).Neg(), P.Mul(D)}
}

func (Kalman) leaveGradient(last, dlast []*Tile) []*Tile {
	λ, η, dλ, dη := last[0], last[1], dlast[0], dlast[1]
	return []*Tile{λ.Mul(dλ.Mul(λ).Add(dη.Mul(η))).Neg(), dη.Mul(λ)}
}

// asked is what the gradients of the outputs ask of the variance and the mean after
// a token; without y_var nothing of the former.
func (c Kalman) asked(w *program, x token) (dP, dMean *Tile) {
	q := x.states[1]
	dMean = x.dy[0].Mul(q)
	if c.Variance {
		dP = x.dy[1].Mul(q).Mul(q)
	}
	if c.Prior {
		a := w.fixed[0]
		dMean = dMean.Mul(a)
		if c.Variance {
			dP = dP.Mul(a.Mul(a))
		}
	}
	return dP, dMean
}

// The slopes are dμ'/dμ, dP'/dP, dμ'/dP and what the outputs ask of μ and P.

func (Kalman) flat(w *program) []*Tile {
	one, zero := w.full(1), w.full(0)
	return []*Tile{one, one, zero, zero, zero}
}

func (c Kalman) slope(w *program, s, f []*Tile, x token) (next, slopes []*Tile) {
	y := c.move(w, s, x)
	ag := w.fixed[0].Mul(y.g)
	byMean, byP := ag.Mul(f[0]), w.fixed[2].Mul(y.g).Mul(y.g).Mul(f[1])
	cross := ag.Mul(f[2]).Add(y.lk.Mul(y.surprise).Mul(byP))
	dP, dMean := c.asked(w, x)
	E := f[4].Add(dMean.Mul(cross))
	if dP != nil {
		E = E.Add(dP.Mul(byP))
	}
	return []*Tile{y.P, y.mean}, []*Tile{byMean, byP, cross, f[3].Add(dMean.Mul(byMean)), E}
}

func (Kalman) applyBack(f, d []*Tile) []*Tile {
	E, D := d[0], d[1]
	return []*Tile{f[1].Mul(E).Add(f[2].Mul(D)).Add(f[4]), f[0].Mul(D).Add(f[3])}
}

// pull sums up the gradients of a², of a but for a², and of p.
func (c Kalman) pull(w *program, x token, s, d, sums []*Tile) (dnext, next []*Tile, of share) {
	a, a2 := w.fixed[0], w.fixed[2]
	precision, k, q, dy := x.channels[1], x.states[0], x.states[1], x.dy[0]
	E, D := d[0], d[1]
	da2, da, dp := sums[0], sums[1], sums[2]
	y := c.move(w, s, x)
	P, mean := c.seen(w, []*Tile{y.P, y.mean})
	dq := mean.Mul(dy)
	dP, dMean := c.asked(w, x)
	D = D.Add(dMean)
	if c.Prior {
		da = da.Add(y.mean.Mul(dy).Mul(q))
	}
	if c.Variance {
		dVar := x.dy[1]
		dq = dq.Add(P.Mul(dVar).Mul(q.Add(q)))
		E = E.Add(dP)
		if c.Prior {
			asked := dVar.Mul(q).Mul(q)
			da2, dp = da2.Add(asked.Mul(y.P)), dp.Add(asked)
		}
	}
	F := E.Add(D.Mul(y.lk).Mul(y.surprise))
	DP := D.Mul(y.P)
	DPk, DPe := DP.Mul(k), DP.Mul(y.surprise)
	dφk := F.Mul(y.P).Mul(y.P).Mul(k).Neg()
	of.channels = []*Tile{D.Mul(y.weight), DPe.Add(dφk).Mul(k)}
	of.states = []*Tile{DPe.Sub(DPk.Mul(y.predicted)).Add(dφk.Add(dφk)).Mul(precision), dq}
	Dg, R := D.Mul(y.g), F.Mul(y.g).Mul(y.g)
	return []*Tile{a2.Mul(R), a.Mul(Dg)}, []*Tile{da2.Add(R.Mul(s[0])), da.Add(Dg.Mul(s[1])), dp.Add(R)}, of
}

func (Kalman) learnt(w *program, sums []*Tile) []*Tile {
	return []*Tile{sums[1].Add(sums[0].Mul(w.fixed[0]).Mul(2)), sums[2]}
}
