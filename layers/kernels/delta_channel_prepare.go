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
	var products []*Tile
	for range kinds {
		products = append(products, k.Full(F32, 0, d.C, d.C))
	}
	wide := min(32, d.K)
	if d.DType == F32 { // takes twice the registers
		wide = min(slice/2, d.K)
	}
	products = k.For(d.K/wide, 1, products, func(turn *Tile, acc []*Tile) []*Tile {
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
		next[0] = r.Col().Equal(r.Row()).Where(d.dotAdd(next[0], R[0], K.T()), next[0]) // tokens with themselves
		next = d.overBorders(k, next, func(w border, acc []*Tile) []*Tile {
			x, pairs := decay.to(w), w.pairs()
			key := d.scaled(K, x)
			var next []*Tile
			for i, v := range R {
				from := key
				if v != K {
					from = d.scaled(v, x)
				}
				next = append(next, pairs.Where(d.dotAdd(acc[i], from, key.T()), acc[i]))
			}
			return next
		})

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
	pairs.Store(products[0].To(d.DType), b, h, c, r.Col(), r.Row())
	if !d.Erases {
		return k
	}
	T := products[1]
	if d.Rated {
		T = T.Mul(rate.LoadIf(exist, b, t, h).Row())
	}
	A := unitInverse(k, T, r.Col(), r.Row(), d.precision())
	inverse.Store(A.To(d.DType), b, h, c, r.Col(), r.Row())
	return k
}

// scaled multiplies vectors by decays, in the type of the inputs.
func (d Delta) scaled(v, decay *Tile) *Tile { return v.To(F32).Mul(decay).To(d.DType) }
