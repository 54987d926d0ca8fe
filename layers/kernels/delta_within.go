package kernels

import (
	. "github.com/kalmarz/kalmarz/layers/triton"
)

// block is the number of tokens whose inverse is made by doubling; larger ones
// follow by substitution. It is the smallest side of a product of tiles.
const block = 16

// slice is how many channels are multiplied at once.
const slice = 32

// within makes A = (I + T)⁻¹ of each chunk and the sums of its log-decays, in
// blocks of 16 tokens: i, j below number them.
func (d Delta) within() *Kernel {
	k := New(d.name("within"), 1, 2, d.chunks(), d.B*d.H)
	k.Registers = d.Plan.WithinRegisters
	keys := d.keys(k, "k")
	var erase, rate, decays, sums *Memory
	if !d.Shared {
		erase = d.keys(k, "e")
	}
	if d.Rated {
		rate = d.numbers(k, "rate")
	}
	if d.Decays {
		decays = d.numbers(k, "g")
		sums = k.Out("sums", F32, d.sumsDims()...)
	}
	inverse := k.Out("inverse", d.DType, d.inverseDims()...)

	c := k.Program(0)
	b, h := d.head(k, 1)
	n := d.C / block
	lower := func(visit func(i, j, at int)) {
		for i, at := 0, 0; i < n; i++ {
			for j := 0; j <= i; j, at = j+1, at+1 {
				visit(i, j, at)
			}
		}
	}

	// e_r·k_s for every pair of blocks, over slices of the channels
	zeros := make([]*Tile, n*(n+1)/2)
	for at := range zeros {
		zeros[at] = k.Full(F32, 0, block, block)
	}
	wide := min(slice, d.K)
	products := k.For(d.K/wide, 2, zeros, func(turn *Tile, acc []*Tile) []*Tile {
		channels := turn.Mul(wide).Add(k.Range(wide))
		next, e, key := make([]*Tile, len(acc)), make([]*Tile, n), make([]*Tile, n)
		for i := range n {
			t, exist := d.tokens(k, c, i*block, block)
			key[i] = rows(keys, b, t, h, channels, exist)
			e[i] = key[i]
			if !d.Shared {
				e[i] = rows(erase, b, t, h, channels, exist)
			}
		}
		lower(func(i, j, at int) { next[at] = d.dotAdd(acc[at], e[i], key[j].T()) })
		return next
	})

	r := k.Range(block)
	G, β := make([]sum, n), make([]*Tile, n)
	before := sum{k.Full(F32, 0), k.Full(F32, 0)} // of the blocks that came
	for i := range n {
		t, exist := d.tokens(k, c, i*block, block)
		if d.Decays {
			for term, g := range d.split(decays.LoadIf(exist, b, t, h)) {
				G[i] = append(G[i], g.CumSum(0, false).Add(before[term]))
				before[term] = before[term].Add(g.Sum(0))
				sums.Store(G[i][term], b, h, c, term, r.Add(i*block))
			}
		}
		if d.Rated {
			β[i] = rate.LoadIf(exist, b, t, h).Row()
		}
	}
	T, A := map[[2]int]*Tile{}, map[[2]int]*Tile{}
	lower(func(i, j, at int) {
		x := products[at]
		switch {
		case i == j && d.Decays:
			x = x.Mul(decay(k, G[i], G[j], 1))
		case i == j:
			x = r.Col().AtLeast(r.Row().Add(1)).Where(x, 0)
		case d.Decays:
			x = x.Mul(G[i].col().less(G[j].row()).Exp())
		}
		T[[2]int{i, j}] = scaled(x, β[j])
	})
	dot := func(a, b *Tile) *Tile { return Dot(a, b, d.precision()) }
	for i := range n {
		A[[2]int{i, i}] = unitInverse(k, T[[2]int{i, i}], r.Col(), r.Row(), d.precision())
		for j := i - 1; j >= 0; j-- { // A_ij = -A_ii Σ_{j<=l<i} T_il A_lj
			sum := dot(T[[2]int{i, j}], A[[2]int{j, j}])
			for l := j + 1; l < i; l++ {
				sum = DotAdd(sum, T[[2]int{i, l}], A[[2]int{l, j}], d.precision())
			}
			A[[2]int{i, j}] = dot(A[[2]int{i, i}], sum).Neg()
		}
	}
	for i := range n {
		for j := range n {
			x := A[[2]int{i, j}]
			if x == nil {
				x = k.Full(F32, 0, block, block)
			}
			inverse.Store(x.To(d.DType), b, h, c, r.Add(i*block).Col(), r.Add(j*block).Row())
		}
	}
	return k
}

// unitInverse returns (I + T)⁻¹ for strictly lower triangular T, of which row and
// column are the indices.
func unitInverse(k *Kernel, T, row, column *Tile, precision Precision) *Tile {
	dims := T.Dims()
	eye := row.Equal(column).Where(k.Full(F32, 1, dims...), 0)
	X := eye.Sub(row.Div(2).Equal(column.Div(2)).Where(T, 0))
	for m := 2; m < dims[len(dims)-1]; m *= 2 {
		X = joined(X, T, row, column, m, precision)
	}
	return X
}

// joined makes, of the inverses X of all diagonal blocks of m rows, those of 2m rows:
// X - X (T∘M) X, where M keeps what lies between the two blocks.
func joined(X, T, row, column *Tile, m int, precision Precision) *Tile {
	between := row.Div(2 * m).Equal(column.Div(2 * m)).And(row.Div(m).Differs(column.Div(m)))
	return X.Sub(Dot(Dot(X, between.Where(T, 0), precision), X, precision))
}
