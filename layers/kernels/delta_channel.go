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
	. "github.com/kalmarz/kalmarz/layers/triton"
)

func (d Delta) scaledDims() []int { return []int{d.B, d.H, d.chunks(), d.C, d.K} }

func (d Delta) totalDims() []int { return []int{d.B, d.H, d.chunks(), d.K} }

// border is where the first and the second m of 2m tokens meet, of all such in a chunk.
// Where they are close, tiles hold blocks of tokens, [C/16,16,·], else [C,·].
type border struct {
	d Delta
	k *Kernel
	m int
}

func (d Delta) borders(k *Kernel) (all []border) {
	for m := 1; m < d.C; m *= 2 {
		all = append(all, border{d, k, m})
	}
	return all
}

func (w border) close() bool { return w.m < block }

// of brings rows of a chunk into the shape of the border's tiles, and whole back.
func (w border) of(x *Tile) *Tile {
	if !w.close() {
		return x
	}
	return inBlocks(x)
}

func inBlocks(x *Tile) *Tile {
	dims := x.Dims()
	return x.Reshape(dims[0]/block, block, dims[1])
}

func whole(x *Tile) *Tile {
	dims := x.Dims()
	if len(dims) == 2 {
		return x
	}
	return x.Reshape(dims[0]*dims[1], dims[2])
}

func transposed(x *Tile) *Tile {
	if len(x.Dims()) == 2 {
		return x.T()
	}
	return x.Permute(0, 2, 1)
}

// pairs tells which rows r and columns s are a pair with the border between them.
func (w border) pairs() *Tile {
	r, s := w.d.sides(w.k, w.close())
	r, s = r.Div(w.m), s.Div(w.m)
	return r.Mod(2).Equal(1).And(r.Sub(s).Equal(1))
}

// sides are the indices of rows and columns of matrices of pairs: those within each
// block, [C/16,16,16], or those of a whole chunk, [C,C].
func (d Delta) sides(k *Kernel, blocks bool) (r, s *Tile) {
	if !blocks {
		n := k.Range(d.C)
		return n.Col(), n.Row()
	}
	n := k.Range(block)
	return n.Col().Expand(0), n.Row().Expand(0)
}
