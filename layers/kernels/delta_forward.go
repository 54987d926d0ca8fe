package kernels

import (
	. "github.com/kalmarz/kalmarz/layers/triton"
)

// forward walks through the chunks of a head; with saves it keeps the state on
// entry of each chunk, which the gradient reads.
func (d Delta) forward(saves bool) *Kernel {
	k := New(d.name("forward"), d.Plan.Warps, d.Plan.Stages, d.V/d.columns(), d.B*d.H)
	query, keys := d.keys(k, "q"), d.keys(k, "k")
	write := d.values(k, "z")
	first := k.In("first", F32, d.stateDims()...)
	var inverse *Memory
	if d.Erases {
		inverse = k.In("inverse", d.DType, d.inverseDims()...)
	}
	erase, rate, sums := d.gates(k)
	output := k.Out("o", d.DType, d.B, d.T, d.H, d.V)
	last := k.Out("last", F32, d.stateDims()...)
	written := k.Out("y", d.DType, d.B, d.T, d.H, d.V)
	var entry *Memory
	if saves {
		entry = k.Out("entry", d.DType, d.entryDims()...)
	}

	b, h := d.head(k, 1)
	r, channel := k.Range(d.C), k.Range(d.K)
	column := k.Program(0).Mul(d.columns()).Add(k.Range(d.columns()))
	S := first.Load(b, h, channel.Col(), column.Row())
	S = k.For(d.chunks(), d.Plan.Stages, []*Tile{S}, func(c *Tile, carry []*Tile) []*Tile {
		S, s := carry[0], carry[0].To(d.DType)
		t, exist := d.tokens(k, c, 0, d.C)
		Q, K := rows(query, b, t, h, channel, exist), rows(keys, b, t, h, channel, exist)
		Z := rows(write, b, t, h, column, exist)
		P := d.dot(Q, K.T())
		var G, total sum
		var γ *Tile
		if d.Decays {
			G, total = d.loadSum(sums, b, h, c, r), d.loadSum(sums, b, h, c, d.C-1)
			γ = G.total().Exp().Col()
			P = P.Mul(decay(k, G, G, 0))
		} else {
			P = r.Col().AtLeast(r.Row()).Where(P, 0)
		}
		if saves {
			entry.Store(s, b, h, c, channel.Col(), column.Row())
		}

		y := Z.To(F32)
		if d.Erases {
			A, E := inverse.Load(b, h, c, r.Col(), r.Row()), K
			if !d.Shared {
				E = rows(erase, b, t, h, channel, exist)
			}
			y = d.dot(A, y.Sub(scaled(d.dot(E, s), γ)))
		}
		setRows(written, y.To(d.DType), b, t, h, column, exist)
		u := y
		if d.Rated {
			u = y.Mul(rate.LoadIf(exist, b, t, h).Col())
		}
		o := d.dotAdd(scaled(d.dot(Q, s), γ), P, u)
		setRows(output, o.To(d.DType), b, t, h, column, exist)
		if d.Decays {
			S, u = S.Mul(total.total().Exp()), u.Mul(total.less(G).Exp().Col())
		}
		return []*Tile{d.dotAdd(S, K.T(), u)}
	})[0]
	last.Store(S, b, h, channel.Col(), column.Row())
	return k
}

// Forward is the whole forward pass: from q, k, z, first, and e, rate and g where
// they are, to o, last, y and what the gradient reads: the inverses, the sums and
// the states on entry of each chunk.
func (d Delta) Forward() *Function {
	in, out := []string{"q", "k", "z", "first"}, []string{"o", "last", "y", "entry"}
	var before []*Kernel
	if d.Decays {
		in, out = append(in, "g"), append(out, "sums")
	}
	if d.Decays && !d.Erases {
		before = append(before, d.sums())
	}
	if d.Erases {
		out, before = append(out, "inverse"), append(before, d.within())
		if !d.Shared {
			in = append(in, "e")
		}
	}
	if d.Rated {
		in = append(in, "rate")
	}
	f := newFunction(d.name("delta_forward"), in, out, append(before, d.forward(true))...)
	f.reader, f.lean = d.name("delta_backward"), append(before[:len(before):len(before)], d.forward(false))
	return f
}

// gates declares what a kernel reads of a part, where there is the part: e unless
// it is k, the rates, and the sums of log-decays.
func (d Delta) gates(k *Kernel) (erase, rate, sums *Memory) {
	if d.Erases && !d.Shared {
		erase = d.keys(k, "e")
	}
	if d.Rated {
		rate = d.numbers(k, "rate")
	}
	if d.Decays {
		sums = k.In("sums", F32, d.sumsDims()...)
	}
	return erase, rate, sums
}
