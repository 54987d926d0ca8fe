package kernels

// The Kalman filter of layers/kalman (arXiv 2602.10743), carried by the variance P
// and the mean μ of each latent state instead of λ = 1/P and η = μ/P:
//
//	P⁻ = a² P + p      g = 1/(1 + φ P⁻)      φ = Λ k²
//	P' = g P⁻          μ' = g a μ + P' Λk v
//
// One reciprocal a token, no difference of near numbers, and factors a g <= a.
// Outputs are Σ_s q μ' and Σ_s q² P', or those of the prediction, a μ' and
// a² P' + p. Some tokens take a state to (arXiv 1905.13002)
//
//	r = 1/(1 + J P)     P' = C + Φ² r P     μ' = m + Φ r (μ + h P)
//
// where C, m are what comes of P = 0, μ = 0 and h, J are what the tokens say about
// the state before them.
//
// With D, E the gradients of the mean and the variance after a token, those of the
// outputs included, e = v - k a μ what surprised the filter and F = E + D Λk e:
//
//	dv = Σ_s D P' Λk         dφ = -F P'²
//	dΛ = Σ_s D P' k e + dφ k²
//	dk = Σ_m D P' Λ (e - k a μ) + 2 dφ Λ k
//	da = D g μ + 2 a g² F P  dp = g² F
//	D <- a g D               E <- a² g² F
//
// Tokens v, Λ over channels, k, q over states; statics a, p; the state is λ, η.

import (
	"github.com/gomlx/compute/dtypes"

	. "github.com/kalmarz/kalmarz/layers/triton"
)

var kalmanEntry = Entry{
	Name:     "kalman",
	Replaces: "the scan of the Kalman filter",
	Range:    "up to 128 states a channel; bfloat16 and float32",
	Pays:     "sequences of 32 tokens or more",
	Tolerance: map[DType]Tolerance{
		BF16: {Value: 1e-2, Gradient: 2e-2},
		F32:  {Value: 2e-5, Gradient: 2e-4},
	},
}

// Kalman are the parts of the filter that a problem has.
type Kalman struct {
	Variance bool // the variance of y is an output too
	Prior    bool // the prediction is read
}

// NewKalman describes a filter as kernels see it, or says why there are none.
// Inputs are v, Λ [B,T,M], k, q [B,T,S], a, p [M,S], λ, η [B,M,S] and the mask, if
// tokens may be padding [B,T]; outputs y and, if asked for, y_var [B,T,M]; the last
// state λ, η. Chunks are those of the sequence that run side by side; 0 chooses.
func NewKalman(B, T, M, S, chunks int, dtype dtypes.DType, parts Kalman, masked bool) (Scan, error) {
	return newScan(parts, B, T, M, S, chunks, dtype, masked)
}

// least is a² at least, as in layers/kalman: it must not underflow.
const least = 1e-12

func (c Kalman) arrays() arrays {
	a := arrays{
		name: "kalman", channels: []string{"v", "precision"}, states: []string{"k"}, queries: []string{"q"},
		statics: []string{"a", "p"}, first: []string{"lambda", "eta"}, outputs: []string{"y"},
		state: []string{"variance", "mean"}, effect: []string{"phi", "final", "mean", "hint", "fact"},
		slopes: []string{"mean_slope", "variance_slope", "cross_slope", "mean_offset", "variance_offset"}, sums: 3,
	}
	if c.Prior {
		a.name += "_prior"
	}
	if c.Variance {
		a.name, a.outputs = a.name+"_variance", append(a.outputs, "y_var")
	}
	return a
}

func (Kalman) fix(w *program, statics []*Tile) {
	a := statics[0]
	w.fixed = []*Tile{a, statics[1], a.Mul(a).Max(least)}
}

func (Kalman) enter(first []*Tile) []*Tile {
	P := first[0].Max(1e-30).Reciprocal() // lanes that do not exist are 0
	return []*Tile{P, first[1].Mul(P)}
}

func (Kalman) leave(s []*Tile) []*Tile {
	precision := s[0].Reciprocal()
	return []*Tile{precision, s[1].Mul(precision)}
}

func (Kalman) enterGradient(s, d []*Tile) []*Tile {
	P, mean, E, D := s[0], s[1], d[0], d[1]
	return []*Tile{P.Mul(P.Mul(E).Add(mean.Mul(D))).Neg(), P.Mul(D)}
}

func (Kalman) leaveGradient(last, dlast []*Tile) []*Tile {
	λ, η, dλ, dη := last[0], last[1], dlast[0], dlast[1]
	return []*Tile{λ.Mul(dλ.Mul(λ).Add(dη.Mul(η))).Neg(), dη.Mul(λ)}
}

// moved is what a token does to a lane.
type moved struct {
	P, mean, g           *Tile
	predicted            *Tile // aμ
	lk, weight, surprise *Tile // Λk, P'Λk, e
}

func (Kalman) move(w *program, s []*Tile, x token) (y moved) {
	a, p, a2 := w.fixed[0], w.fixed[1], w.fixed[2]
	v, k := x.channels[0], x.states[0]
	y.lk = x.channels[1].Mul(k)
	prior := a2.Mul(s[0]).Add(p)
	y.g = y.lk.Mul(k).Mul(prior).Add(1).Reciprocal()
	y.P = y.g.Mul(prior)
	y.predicted = a.Mul(s[1])
	y.weight = y.lk.Mul(y.P)
	y.mean = y.g.Mul(y.predicted).Add(y.weight.Mul(v))
	y.surprise = v.Sub(k.Mul(y.predicted))
	return y
}

func (c Kalman) next(w *program, s []*Tile, x token) []*Tile {
	y := c.move(w, s, x)
	return []*Tile{y.P, y.mean}
}

// seen is what is read of a state.
func (c Kalman) seen(w *program, s []*Tile) (P, mean *Tile) {
	if c.Prior {
		a := w.fixed[0]
		return a.Mul(a).Mul(s[0]).Add(w.fixed[1]), a.Mul(s[1])
	}
	return s[0], s[1]
}

func (c Kalman) read(w *program, next []*Tile, x token) []*Tile {
	P, mean := c.seen(w, next)
	q := x.states[1]
	out := []*Tile{mean.Mul(q)}
	if c.Variance {
		out = append(out, P.Mul(q).Mul(q))
	}
	return out
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

func (Kalman) nothing(w *program) []*Tile {
	zero := w.full(0)
	return []*Tile{w.full(1), zero, zero, zero, zero}
}

// extend carries Φ, C, m, h, J.
func (c Kalman) extend(w *program, f []*Tile, x token) []*Tile {
	Φ := f[0].Mul(w.fixed[0]) // of the prediction
	y := c.move(w, f[1:3], x)
	said := y.lk.Mul(Φ).Mul(y.g) // by the token about the state before
	return []*Tile{Φ.Mul(y.g), y.P, y.mean, f[3].Add(said.Mul(y.surprise)), f[4].Add(said.Mul(x.states[0]).Mul(Φ))}
}

func (Kalman) apply(f, s []*Tile) []*Tile {
	Φ, C, m, h, J := f[0], f[1], f[2], f[3], f[4]
	Φr := J.Mul(s[0]).Add(1).Reciprocal().Mul(Φ)
	return []*Tile{C.Add(Φ.Mul(Φr).Mul(s[0])), m.Add(Φr.Mul(s[1].Add(h.Mul(s[0]))))}
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
