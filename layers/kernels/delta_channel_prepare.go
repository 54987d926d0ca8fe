package kernels

import (
	"slices"

	. "github.com/kalmarz/kalmarz/layers/triton"
)

// prepare makes, of each chunk, P and A, its vectors with the decays between them and
// its start or end, and its whole decay.
func (d Delta) prepare() *Kernel {
	k := New(d.name("prepare"), d.C/block, 1, d.chunks(), d.B*d.H)
	k.Registers = d.Plan.WithinRegisters
	query, keys, decays := d.keys(k, "q"), d.keys(k, "k"), d.logDecays(k)
	steps := k.In("steps", BF16, d.stepsDims()...)
	var erase, rate *Memory
	if d.Erases && !d.Shared {
		erase = d.keys(k, "e")
	}
	if d.Rated && d.Erases {
		rate = d.numbers(k, "rate")
	}
	queried, kept := k.Out("queried", d.DType, d.scaledDims()...), k.Out("kept", d.DType, d.scaledDims()...)
	total, pairs := k.Out("total", F32, d.totalDims()...), k.Out("pairs", d.DType, d.inverseDims()...)
	var erased, inverse *Memory
	if d.Erases {
		erased, inverse = k.Out("erased", d.DType, d.scaledDims()...), k.Out("inverse", d.DType, d.inverseDims()...)
	}

	c := k.Program(0)
	b, h := d.head(k, 1)
	r := k.Range(d.C)
	t, exist := d.tokens(k, c, 0, d.C)

	// products of all pairs: of queries and, if there are, erase vectors
	kinds := 1
	if d.Erases {
		kinds = 2
	}
	_, blocks := d.borders()
	var near, far []*Tile // within blocks, if they are taken apart, and others
	for range kinds {
		if blocks > 0 {
			near = append(near, k.Full(F32, 0, d.C/block, block, block))
		}
		far = append(far, k.Full(F32, 0, d.C, d.C))
	}
	wide := min(slice, d.K)
	if d.DType == F32 { // takes twice the registers
		wide = min(slice/2, d.K)
	}
	products := k.For(d.K/wide, 1, append(near, far...), func(turn *Tile, acc []*Tile) []*Tile {
		channel := turn.Mul(wide).Add(k.Range(wide))
		read := func(m *Memory) *Tile { return rows(m, b, t, h, channel, exist) }
		K := read(keys)
		R := []*Tile{read(query)}
		if d.Erases {
			R = append(R, K)
			if !d.Shared {
				R[1] = read(erase)
			}
		}
		decay := d.channelDecays(k, steps, rows(decays, b, t, h, channel, exist))
		next := slices.Clone(acc)
		row, column := d.sides(r, blocks > 0) // of tokens with themselves
		q, key := d.shaped(R[0], blocks > 0), d.shaped(K, blocks > 0)
		next[0] = row.Equal(column).Where(d.dotAdd(next[0], q, transposed(key)), next[0])
		meet := func(w border, acc []*Tile) []*Tile {
			x, pairs := decay.to(w), w.pairs()
			key := d.scaled(w.of(K), x)
			var next []*Tile
			for i, v := range R {
				from := key
				if v != K {
					from = d.scaled(w.of(v), x)
				}
				next = append(next, pairs.Where(d.dotAdd(acc[i], from, transposed(key)), acc[i]))
			}
			return next
		}
		next = append(d.overBorders(k, border{d: d, close: true}, next[:len(near)], meet), d.overBorders(k, border{d: d}, next[len(near):], meet)...)

		place := []any{b, h, c, r.Col(), channel.Row()}
		since := decay.fromStart()
		queried.Store(d.scaled(R[0], since), place...)
		if d.Erases {
			erased.Store(d.scaled(R[1], since), place...)
		}
		kept.Store(d.scaled(K, decay.toEnd()), place...)
		total.Store(decay.whole(), b, h, c, channel)
		return next
	})
	P := products[len(near)]
	if len(near) > 0 {
		P = P.Add(d.diagonal(k, products[0]))
	}
	pairs.Store(P.To(d.DType), b, h, c, r.Col(), r.Row())
	if !d.Erases {
		return k
	}
	T := products[len(near)+1]
	var β *Tile
	if d.Rated {
		β = rate.LoadIf(exist, b, t, h)
		T = T.Mul(β.Row())
	}
	row, column := r.Col(), r.Row()
	var A *Tile
	if len(near) == 0 {
		A = unitInverse(k, T, row, column, d.precision())
	} else {
		blocks := products[1]
		if d.Rated {
			_, β := d.sides(β, true)
			blocks = blocks.Mul(β)
		}
		i := k.Range(block)
		A = d.diagonal(k, unitInverse(k, blocks, i.Col().Expand(0), i.Row().Expand(0), d.precision()))
		for m := block; m < d.C; m *= 2 {
			A = joined(A, T, row, column, m, d.precision())
		}
	}
	inverse.Store(A.To(d.DType), b, h, c, r.Col(), r.Row())
	return k
}

// scaled multiplies vectors by decays, in the type of the inputs.
func (d Delta) scaled(v, decay *Tile) *Tile { return v.To(F32).Mul(decay).To(d.DType) }

// diagonal puts blocks [C/16,16,16] on the diagonal of a matrix of zeros.
func (d Delta) diagonal(k *Kernel, x *Tile) *Tile {
	n := d.C / block
	dims := []int{n, block, n, block}
	i := k.Range(n)
	here := i.Col().Equal(i.Row()).Expand(1).Expand(3).Broadcast(dims...)
	return here.Where(x.Expand(2).Broadcast(dims...), 0).Reshape(d.C, d.C)
}
