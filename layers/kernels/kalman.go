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
// Tokens v, Λ over channels, k, q over states; statics a, p; the state is λ, η.

import (
	"github.com/gomlx/compute/dtypes"

	. "github.com/kalmarz/kalmarz/layers/triton"
)

var kalmanEntry = Entry{
	Name:     "kalman",
	Replaces: "the scan of the Kalman filter",
	Range:    "up to 128 states a channel; bfloat16 and float32",
	Pays:     "sequences of 256 tokens or more",
	Tolerance: map[DType]Tolerance{
		BF16: {Value: 1e-2, Gradient: 2e-2},
		F32:  {Value: 5e-6, Gradient: 5e-5},
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
