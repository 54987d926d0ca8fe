package kernels

import (
	"math"

	. "github.com/kalmarz/kalmarz/layers/triton"
)

// counts tells which tokens i are in the decay between token r and a border.
type counts func(r, i *Tile) *Tile

// steps counts up to and with a token r behind the border, and after one before it.
func (w border) steps(r, i *Tile) *Tile {
	before := r.Div(w.m).Mod(2).Neg().Add(1) // 1 or 0
	start, next := r.Div(w.m).Mul(w.m), r.Add(1)
	from := start.Add(before.Mul(next.Sub(start)))
	to := next.Add(before.Mul(start.Add(w.m).Sub(next)))
	return i.AtLeast(from).And(i.Less(to))
}

// since and until count in the decays from the chunk's start and to its end.
func since(r, i *Tile) *Tile { return r.AtLeast(i) }

func until(r, i *Tile) *Tile { return r.Less(i) }

// channelDecays are those of some channels in a chunk.
type channelDecays struct {
	d     Delta
	k     *Kernel
	parts []*Tile // of log₂ of each token's decay, which add up to it [C,channels]
	total *Tile   // log₂ of the whole decay [channels]
}

func (d Delta) channelDecays(k *Kernel, g *Tile) channelDecays {
	g = g.Max(forgotten).Mul(math.Log2E)
	return channelDecays{d: d, k: k, parts: d.parts(g), total: g.Sum(0)}
}

// parts cuts numbers into addends of 8 bits each, which bfloat16 holds.
func (d Delta) parts(x *Tile) []*Tile {
	n := 2
	if d.DType == F32 {
		n = 3
	}
	parts := []*Tile{x.To(BF16)}
	for len(parts) < n {
		x = x.Sub(parts[len(parts)-1].To(F32))
		parts = append(parts, x.To(BF16))
	}
	return parts
}

// sumOf adds to sum, of numbers in parts, those rows that count for each row, or with
// back those for which it counts: a product with a matrix of 0 and 1, or its transpose.
func (d Delta) sumOf(k *Kernel, sum *Tile, c counts, parts []*Tile, back bool) *Tile {
	blocks := len(parts[0].Dims()) == 3
	r, i := d.sides(k, blocks)
	dims := []int{d.C, d.C}
	if blocks {
		dims = []int{d.C / block, block, block}
	}
	matrix := c(r, i).Broadcast(dims...).Where(k.Full(BF16, 1), 0.0)
	if back {
		matrix = transposed(matrix)
	}
	for j := len(parts) - 1; j >= 0; j-- { // the small ones first
		sum = DotAdd(sum, matrix, parts[j], TF32)
	}
	return sum
}

// to is the decay between each token and a border.
func (c channelDecays) to(w border) *Tile {
	parts := make([]*Tile, len(c.parts))
	for j, part := range c.parts {
		parts[j] = w.of(part)
	}
	return c.d.sumOf(c.k, nil, w.steps, parts, false).Exp2()
}

// fromStart and toEnd are the decays between each token and the chunk's start or end,
// whole that from the one to the other.

func (c channelDecays) fromStart() *Tile { return c.d.sumOf(c.k, nil, since, c.parts, false).Exp2() }

func (c channelDecays) toEnd() *Tile { return c.d.sumOf(c.k, nil, until, c.parts, false).Exp2() }

func (c channelDecays) whole() *Tile { return c.total.Exp2() }

// decayGradient gathers the gradient of log-decays from those of decays' logarithms.
type decayGradient struct {
	d          Delta
	k          *Kernel
	close, far *Tile // of sums in blocks and of others
	whole      *Tile // of a chunk's sum [channels]
}

// add takes the gradient of the logarithm of a decay in which tokens count.
func (e *decayGradient) add(x *Tile, c counts) {
	sum := &e.far
	if len(x.Dims()) == 3 {
		sum = &e.close
	}
	parts := e.d.parts(x)
	if e.d.DType == BF16 {
		parts = parts[:1] // x is a product of what has no more digits
	}
	*sum = e.d.sumOf(e.k, *sum, c, parts, true)
}

// all is the gradient of the log-decays [C,channels].
func (e *decayGradient) all() *Tile { return e.far.Add(whole(e.close)).Add(e.whole.Row()) }
