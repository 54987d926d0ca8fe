package kernels

// The scans of layers/ssm with a diagonal state h, an affine map a token:
//
//	h' = α h + β x u     y = Σ_s q h'
//
//	Mamba (arXiv 2312.00752)               α = exp(Δ A)    β = Δ
//	Longhorn (arXiv 2407.14207)            α = 1 - D u²    β = D
//
// With G the gradient of h', that of the output included, and a = G h α or G h the
// part of the decay:
//
//	dx = β Σ_s G u     dq = Σ_m h' dy     G <- α G
//	Mamba     dΔ = Σ_s G u x + a A      du = Σ_m G Δ x             dA = Σ_t a Δ
//	Longhorn  dD = Σ_s G u x - a u²     du = Σ_m G D x - 2 a D u
//
// Some tokens take a state to Φ h + m.

import (
	"github.com/gomlx/compute/dtypes"

	. "github.com/kalmarz/kalmarz/layers/triton"
)

var affineEntry = Entry{
	Name:     "mamba, longhorn",
	Replaces: "the selective scan and the diagonal form of Longhorn",
	Range:    kalmanEntry.Range,
	Pays:     kalmanEntry.Pays,
	Tolerance: map[DType]Tolerance{
		BF16: {Value: 1e-2, Gradient: 2e-2},
		F32:  {Value: 2e-5, Gradient: 2e-4},
	},
}

// affine is one of the two.
type affine struct{ longhorn bool }

// NewMamba describes a selective scan as kernels see it, or says why there are none.
// Inputs are x, Δ [B,T,M], B, C [B,T,S], A [M,S] and h [B,M,S]; the output is y
// [B,T,M], the last state h.
func NewMamba(B, T, M, S, chunks int, dtype dtypes.DType) (Scan, error) {
	return newScan(affine{}, B, T, M, S, chunks, dtype, false)
}

// NewLonghorn describes the diagonal form of Longhorn. Inputs are x, D [B,T,M], k, q
// [B,T,S] and h [B,M,S]; the output is y [B,T,M], the last state h.
func NewLonghorn(B, T, M, S, chunks int, dtype dtypes.DType) (Scan, error) {
	return newScan(affine{longhorn: true}, B, T, M, S, chunks, dtype, false)
}

func (c affine) arrays() arrays {
	a := arrays{name: "mamba", channels: []string{"x", "step"}, states: []string{"in"}, queries: []string{"out"}, statics: []string{"a"},
		first: []string{"h"}, outputs: []string{"y"}, state: []string{"state"}, effect: []string{"factor", "sum"}, slopes: []string{"slope", "offset"}, sums: 1}
	if c.longhorn {
		a.name, a.statics, a.sums = "longhorn", nil, 0
	}
	return a
}

func (affine) fix(w *program, statics []*Tile) { w.fixed = statics }

func (affine) enter(first []*Tile) []*Tile { return first }

func (affine) leave(s []*Tile) []*Tile { return s }

func (affine) enterGradient(_, d []*Tile) []*Tile { return d }

func (affine) leaveGradient(_, dlast []*Tile) []*Tile { return dlast }

func (c affine) decay(w *program, x token) *Tile {
	rate, u := x.channels[1], x.states[0]
	if c.longhorn {
		return rate.Mul(u.Mul(u)).Neg().Add(1)
	}
	return rate.Mul(w.fixed[0]).Exp()
}

func (c affine) next(w *program, s []*Tile, x token) []*Tile {
	written := x.channels[0].Mul(x.channels[1]).Mul(x.states[0])
	return []*Tile{c.decay(w, x).Mul(s[0]).Add(written)}
}

func (affine) read(_ *program, next []*Tile, x token) []*Tile {
	return []*Tile{next[0].Mul(x.states[1])}
}

func (affine) nothing(w *program) []*Tile { return []*Tile{w.full(1), w.full(0)} }

func (c affine) extend(w *program, f []*Tile, x token) []*Tile {
	return []*Tile{c.decay(w, x).Mul(f[0]), c.next(w, f[1:], x)[0]}
}

func (affine) apply(f, s []*Tile) []*Tile { return []*Tile{f[0].Mul(s[0]).Add(f[1])} }

// The slopes are dh'/dh and what the outputs ask of h.

func (c affine) flat(w *program) []*Tile { return c.nothing(w) }

func (c affine) slope(w *program, s, f []*Tile, x token) (next, slopes []*Tile) {
	Φ := c.decay(w, x).Mul(f[0])
	return s, []*Tile{Φ, f[1].Add(x.dy[0].Mul(x.states[1]).Mul(Φ))}
}

func (c affine) applyBack(f, d []*Tile) []*Tile { return c.apply(f, d) }

func (c affine) pull(w *program, x token, s, d, sums []*Tile) (dnext, next []*Tile, of share) {
	rate, u, q, dy := x.channels[1], x.states[0], x.states[1], x.dy[0]
	α := c.decay(w, x)
	wide := x.channels[0].Mul(rate)
	after := α.Mul(s[0]).Add(wide.Mul(u))
	G := d[0].Add(dy.Mul(q))
	Gu, back := G.Mul(u), α.Mul(G)
	if c.longhorn {
		forgot := G.Mul(s[0]).Mul(u)
		of.channels = []*Tile{Gu.Mul(rate), Gu.Mul(x.channels[0]).Sub(forgot.Mul(u))}
		of.states = []*Tile{G.Mul(wide).Sub(forgot.Add(forgot).Mul(rate)), after.Mul(dy)}
		return []*Tile{back}, sums, of
	}
	forgot := back.Mul(s[0])
	of.channels = []*Tile{Gu.Mul(rate), Gu.Mul(x.channels[0]).Add(forgot.Mul(w.fixed[0]))}
	of.states = []*Tile{G.Mul(wide), after.Mul(dy)}
	return []*Tile{back}, []*Tile{sums[0].Add(forgot.Mul(rate))}, of
}

func (affine) learnt(_ *program, sums []*Tile) []*Tile { return sums }
