package kernels

import (
	"math"

	. "github.com/kalmarz/kalmarz/layers/triton"
)

// steps makes the matrices of 0 and 1 that tell which tokens i are in the decay between
// token r and a border, for each border: those up to and with r behind it, and those
// after r before it; then those from r to the chunk's end, which is a border that all
// are before, and from its start to r.
func (d Delta) steps() *Kernel {
	k := New(d.name("steps"), 1, 1, d.matrices())
	out := k.Out("steps", BF16, d.stepsDims()...)
	which, token := k.Program(0), k.Range(d.C)
	half := k.Loop(k.Full(I32, 0), which, 1, []*Tile{token}, func(_ *Tile, half []*Tile) []*Tile {
		return []*Tile{half[0].Div(2)}
	})[0]
	behind := half.Mod(2).Add(which.Div(d.matrices() - 1)) // 1 or 0
	r, i := token.Col(), token.Row()
	upTo := r.AtLeast(i).Where(k.Full(I32, 1), 0)
	counts := half.Col().Equal(half.Row()).And(upTo.Equal(behind.Col()))
	out.Store(counts.Where(k.Full(BF16, 1), 0.0), which, r, i)
	return k
}

// matrices is their number; the last two are those to the end and from the start.
func (d Delta) matrices() int {
	all, _ := d.borders()
	return all + 2
}

func (d Delta) stepsDims() []int { return []int{d.matrices(), d.C, d.C} }

// channelDecays are those of some channels in a chunk.
type channelDecays struct {
	d     Delta
	k     *Kernel
	steps *Memory
	at    border  // whose shape the parts have
	parts []*Tile // of log₂ of each token's decay, which add up to it [C,channels]
	total *Tile   // log₂ of the whole decay [channels]
}

func (d Delta) channelDecays(k *Kernel, steps *Memory, g *Tile) channelDecays {
	g = g.Max(forgotten).Mul(math.Log2E)
	return channelDecays{d: d, k: k, at: border{d: d}, steps: steps, parts: d.parts(g), total: g.Sum(0)}
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

// sumOf adds to sum, of numbers in parts in a border's shape, those rows that count for
// each row, or with back those for which it counts: a product with one of steps, or its
// transpose.
func (w border) sumOf(k *Kernel, sum *Tile, steps *Memory, which any, parts []*Tile, back bool) *Tile {
	r, i := w.d.sides(k.Range(w.d.C), w.close)
	matrix := steps.Load(which, r, i)
	if back {
		matrix = transposed(matrix)
	}
	for j := len(parts) - 1; j >= 0; j-- { // the small ones first
		sum = w.times(sum, matrix, parts[j])
	}
	return sum
}

// to is the decay between each token and a border.
func (c channelDecays) to(w border) *Tile {
	parts := make([]*Tile, len(c.parts))
	for i, part := range c.parts {
		parts[i] = w.of(part)
	}
	c.parts, c.at = parts, w
	return c.along(w.level)
}

// fromStart and toEnd are the decays between each token and the chunk's start or end,
// whole that from the one to the other.

func (c channelDecays) fromStart() *Tile { return c.along(c.d.matrices() - 1) }

func (c channelDecays) toEnd() *Tile { return c.along(c.d.matrices() - 2) }

func (c channelDecays) along(which any) *Tile {
	return c.at.sumOf(c.k, nil, c.steps, which, c.parts, false).Exp2()
}

func (c channelDecays) whole() *Tile { return c.total.Exp2() }

// decayGradient gathers the gradient of log-decays from those of decays' logarithms.
type decayGradient struct {
	at    border // whose shape the sum has
	k     *Kernel
	steps *Memory
	sum   *Tile
	whole *Tile // of a chunk's sum [channels]
}

// add takes the gradients of the logarithms of decays along one of steps.
func (e *decayGradient) add(x *Tile, which any) {
	parts := e.at.d.parts(x)
	if e.at.d.DType == BF16 {
		parts = parts[:1] // x is a product of what has no more digits
	}
	e.sum = e.at.sumOf(e.k, e.sum, e.steps, which, parts, true)
}

// all is the gradient of the log-decays [C,channels].
func (e *decayGradient) all() *Tile { return e.sum.Add(e.whole.Row()) }
