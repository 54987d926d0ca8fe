package kernels

// Sums of log-decays from a chunk's start on. Of those that a pair of tokens has
// between them only a difference is needed, and where decays are strong it has to
// be small beside both: float32 sums of -640 differ by -0.01 only to 4e-5. So in
// float32 a sum is kept as two terms, of which the first adds up whole multiples
// of 2⁻⁸, exactly, and the second what is left of each, less than that. For
// bfloat16 one term is exact enough.

import (
	. "github.com/kalmarz/kalmarz/layers/triton"
)

// sum is G as the terms it adds up to.
type sum []*Tile

func (d Delta) terms() int {
	if d.DType == F32 {
		return 2
	}
	return 1
}

// split makes the terms of log-decays, of which C that are above -2¹⁶/C add up
// without loss.
func (d Delta) split(g *Tile) sum {
	if d.terms() == 1 {
		return sum{g}
	}
	const unit = 256
	whole := g.Mul(unit).Floor().Mul(1.0 / unit)
	return sum{whole, g.Sub(whole)}
}

// loadSum reads G at places r of a chunk, a tile or an int.
func (d Delta) loadSum(sums *Memory, b, h, c *Tile, r any) sum {
	s := make(sum, d.terms())
	for i := range s {
		s[i] = sums.Load(b, h, c, i, r)
	}
	return s
}

func (s sum) each(f func(term *Tile) *Tile) sum {
	out := make(sum, len(s))
	for i, t := range s {
		out[i] = f(t)
	}
	return out
}

func (s sum) col() sum { return s.each((*Tile).Col) }

func (s sum) row() sum { return s.each((*Tile).Row) }

// total adds the terms.
func (s sum) total() *Tile {
	if len(s) == 1 {
		return s[0]
	}
	return s[0].Add(s[1])
}

// less is s - x.
func (s sum) less(x sum) *Tile {
	d := make(sum, len(s))
	for i := range s {
		d[i] = s[i].Sub(x[i])
	}
	return d.total()
}

// sums adds up the log-decays inside each chunk, where no inverse is made.
func (d Delta) sums() *Kernel {
	k := New(d.name("sums"), 1, 1, d.chunks(), d.B*d.H)
	g := d.numbers(k, "g")
	sums := k.Out("sums", F32, d.sumsDims()...)
	c := k.Program(0)
	b, h := d.head(k, 1)
	t, exist := d.tokens(k, c, 0, d.C)
	for i, term := range d.split(g.LoadIf(exist, b, t, h)) {
		sums.Store(term.CumSum(0, false), b, h, c, i, k.Range(d.C))
	}
	return k
}
