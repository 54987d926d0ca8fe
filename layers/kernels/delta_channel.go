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
// The log-decays of x are sums over tokens, products with matrices of 0 and 1 that are
// made once. One program for a chunk makes A, P and the scaled vectors; the walk through
// the chunks then only multiplies.
//
//	q, k, e  [B,T,H,K]     z, o, y  [B,T,H,V]     g  [B,T,H,K], at most 0     β  [B,T,H]
//	γ∘Q, γ∘E, w∘K  [B,H,N,C,K]     γ_C  [B,H,N,K]     A, P, gradients p, t  [B,H,N,C,C]
//	steps, of 0 and 1  [log₂ C + 2,C,C]
//	first, last S [B,H,K,V]     entry S of each chunk [B,H,N,K,V]

import (
	"math/bits"

	. "github.com/kalmarz/kalmarz/layers/triton"
)

func (d Delta) scaledDims() []int { return []int{d.B, d.H, d.chunks(), d.C, d.K} }

func (d Delta) totalDims() []int { return []int{d.B, d.H, d.chunks(), d.K} }

// border is where the first and the second m of 2m tokens meet, of all such in a chunk.
// Where they are close, tiles hold blocks of tokens, [C/16,16,·], else [C,·]. Blocks may be
// turned: what a product makes is then the first operand of the next as it lies.
type border struct {
	d      Delta
	level  *Tile // log₂ m
	half   *Tile // of each token: its index / m
	close  bool
	turned bool // blocks are [C/16,·,16]
}

// borders is how many there are for each token, and how many of them are close.
func (d Delta) borders() (all, close int) {
	all = bits.Len(uint(d.C)) - 1
	if d.DType == BF16 {
		close = bits.Len(block) - 1
	}
	return all, close
}

// overBorders takes those that are close, or the others, one after the other, as a loop:
// straight code would hold the masks of all of them.
func (d Delta) overBorders(k *Kernel, w border, carry []*Tile, body func(w border, carry []*Tile) []*Tile) []*Tile {
	to, from := d.borders()
	half := k.Range(d.C)
	if w.close {
		from, to = 0, from
	} else {
		half = half.Div(1 << from)
	}
	if from == to {
		return carry
	}
	n := len(carry)
	return k.Loop(k.Full(I32, float64(from)), k.Full(I32, float64(to)), 1, append(carry[:n:n], half), func(level *Tile, carry []*Tile) []*Tile {
		w.level, w.half = level, carry[n]
		return append(body(w, carry[:n:n]), w.half.Div(2))
	})[:n]
}

// of brings rows of a chunk into the shape of the border's tiles.
func (w border) of(x *Tile) *Tile {
	x = w.d.shaped(x, w.close)
	if w.turned {
		x = transposed(x)
	}
	return x
}

// back brings the border's tiles into the shape of rows of a chunk.
func (w border) back(x *Tile) *Tile {
	if w.turned {
		x = transposed(x)
	}
	return w.d.shaped(x, false)
}

// row brings a number for each token into a shape that tiles can be scaled by.
func (w border) row(x *Tile) *Tile {
	r, s := w.d.sides(x, w.close)
	if w.turned {
		return s
	}
	return r
}

// times adds the product of a matrix of pairs and rows of tokens, in the border's shape.
func (w border) times(acc, matrix, x *Tile) *Tile {
	if w.turned {
		return DotAdd(acc, x, transposed(matrix), w.d.precision())
	}
	return DotAdd(acc, matrix, x, w.d.precision())
}

// shaped is rows of a chunk, in blocks or not.
func (d Delta) shaped(x *Tile, blocks bool) *Tile {
	dims := x.Dims()
	width := dims[len(dims)-1]
	switch {
	case blocks && len(dims) == 2:
		return x.Reshape(d.C/block, block, width)
	case !blocks && len(dims) == 3:
		return x.Reshape(d.C, width)
	}
	return x
}

func transposed(x *Tile) *Tile {
	if len(x.Dims()) == 2 {
		return x.T()
	}
	return x.Permute(0, 2, 1)
}

// sides makes rows and columns of numbers of the tokens: of a matrix of the whole chunk,
// [C,C], or of those of its blocks, [C/16,16,16].
func (d Delta) sides(x *Tile, blocks bool) (r, s *Tile) {
	if !blocks {
		return x.Col(), x.Row()
	}
	x = x.Reshape(d.C/block, block)
	return x.Expand(2), x.Expand(1)
}

// pairs tells which rows r and columns s are a pair with the border between them: s is
// in the half before r's, if there is one.
func (w border) pairs() *Tile {
	before, _ := w.d.sides(w.half.Mod(2).Equal(1).Where(w.half.Sub(1), -1), w.close)
	_, half := w.d.sides(w.half, w.close)
	return before.Equal(half)
}
