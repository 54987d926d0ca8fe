package kernels

// The delta rule with a decay for each key channel, in chunks of C tokens
// (layers/delta; arXiv 2312.06635, 2510.26692). With G_r = Σ_{i<=r} g_i inside a
// chunk, γ = exp(G), w = exp(G_C - G), all [C,K], and S the state on entry:
//
//	A = (I + T)⁻¹               T_rs = Σ_d e_rd k_sd exp(G_rd - G_sd) β_s, s < r
//	y = A (z - (γ∘E) S)         u = β∘y
//	o = (γ∘Q) S + P u           P_rs = Σ_d q_rd k_sd exp(G_rd - G_sd), s <= r
//	S' = γ_C∘S + (w∘K)ᵀ u
//
// Pairs of tokens are taken by halves, as in layers/delta/within.go: r is among the
// second and s among the first m of some 2m tokens, m = 1, 2, 4 ... C/2, and with x the
// decay between each token and the border of its halves
//
//	exp(G_r - G_s) = x_r x_s      P = Σ_m [pairs of m] (x∘Q) (x∘K)ᵀ
//
// A sum of log-decays from one token to another is never the difference of longer
// ones, so it keeps the digits of all of them, and no exponent is above 0. Tokens
// with themselves come on top.
//
// One program for a chunk makes A, P and the scaled vectors; the walk through the
// chunks then only multiplies.
//
//	q, k, e  [B,T,H,K]     z, o, y  [B,T,H,V]     g  [B,T,H,K], at most 0     β  [B,T,H]
//	γ∘Q, γ∘E, w∘K  [B,H,N,C,K]     γ_C  [B,H,N,K]     A, P  [B,H,N,C,C]
//	first, last S [B,H,K,V]     entry S of each chunk [B,H,N,K,V]

import (
	"math/bits"

	. "github.com/kalmarz/kalmarz/layers/triton"
)

func (d Delta) scaledDims() []int { return []int{d.B, d.H, d.chunks(), d.C, d.K} }

func (d Delta) totalDims() []int { return []int{d.B, d.H, d.chunks(), d.K} }

// border is where the first and the second m of 2m tokens meet, of all such in a chunk.
type border struct {
	level *Tile // log₂ m
	half  *Tile // of each token: its index / m
}

// borders is how many there are for each token.
func (d Delta) borders() int { return bits.Len(uint(d.C)) - 1 }

// overBorders takes one after the other, as a loop: straight code would hold the masks
// of all of them.
func (d Delta) overBorders(k *Kernel, carry []*Tile, body func(w border, carry []*Tile) []*Tile) []*Tile {
	n := len(carry)
	return k.For(d.borders(), 1, append(carry[:n:n], k.Range(d.C)), func(level *Tile, carry []*Tile) []*Tile {
		half := carry[n]
		return append(body(border{level, half}, carry[:n:n]), half.Div(2))
	})[:n]
}

// pairs tells which rows r and columns s are a pair with the border between them: s is
// in the half before r's, if there is one.
func (w border) pairs() *Tile {
	before := w.half.Mod(2).Equal(1).Where(w.half.Sub(1), -1)
	return before.Col().Equal(w.half.Row())
}
