package kernels

import (
	. "github.com/kalmarz/kalmarz/layers/triton"
)

// walk says what a program makes on its way through the chunks of a segment.
type walk int

const (
	outputs walk = iota // o and y, from the state on entry of the segment
	keeping             // and the states on entry of each chunk, which the gradient reads
	mapping             // what the segment does to a state
)

// forward walks through the chunks of a head.
func (d Delta) forward(what walk) *Kernel {
	if d.Channels {
		return d.forwardChannels(what)
	}
	name, width, wide := d.walked(what)
	k := New(d.name(name), d.Plan.Warps, d.Plan.Stages, width/wide, d.B*d.H*d.segments())
	keys := d.keys(k, "k")
	write := d.values(k, "z")
	var query, first, inverse *Memory
	if what != mapping {
		query = d.keys(k, "q")
		first = k.In(d.start(), F32, d.startDims()...)
	}
	if d.Erases {
		inverse = k.In("inverse", d.DType, d.inverseDims()...)
	}
	erase, rate, sums := d.gates(k)
	var output, last, written, entry, spans *Memory
	if what == mapping {
		last = k.Out("maps", F32, d.mapsDims()...)
		if d.spanned() {
			spans = k.Out("spans", F32, d.spansDims()...)
		}
	} else {
		output, written = k.Out("o", d.DType, d.B, d.T, d.H, d.V), k.Out("y", d.DType, d.B, d.T, d.H, d.V)
		if !d.cut() {
			last = k.Out("last", F32, d.stateDims()...)
		}
	}
	if what == keeping {
		entry = k.Out("entry", d.DType, d.entryDims()...)
	}

	b, h, segment := d.segment(k, 1)
	r, channel := k.Range(d.C), k.Range(d.K)
	column := k.Program(0).Mul(wide).Add(k.Range(wide))
	S, writes := d.enter(k, what, first, b, h, segment, channel, column)
	span := k.Full(F32, 0) // log-decay
	walked := k.For(d.chunks()/d.segments(), d.Plan.Stages, []*Tile{S, span}, func(turn *Tile, carry []*Tile) []*Tile {
		S, s, span := carry[0], carry[0].To(d.DType), carry[1]
		c := segment.Mul(d.chunks() / d.segments()).Add(turn)
		t, exist := d.tokens(k, c, 0, d.C)
		K := rows(keys, b, t, h, channel, exist)
		var P, Q, γ, y *Tile
		var G, total sum
		if d.Decays {
			G, total = d.loadSum(sums, b, h, c, r), d.loadSum(sums, b, h, c, d.C-1)
			γ = G.total().Exp().Col()
		}
		if what != mapping {
			Q = rows(query, b, t, h, channel, exist)
			P = d.dot(Q, K.T())
			if d.Decays {
				P = P.Mul(decay(k, G, G, 0))
			} else {
				P = r.Col().AtLeast(r.Row()).Where(P, 0)
			}
		}
		if what == keeping {
			entry.Store(s, b, h, c, channel.Col(), column.Row())
		}

		if what != mapping {
			y = rows(write, b, t, h, column, exist).To(F32)
		} else {
			y = write.LoadIf(both(writes, col(exist)), b, t.Col(), h, column.Row()).To(F32)
		}
		if d.Erases {
			A, E := inverse.Load(b, h, c, r.Col(), r.Row()), K
			if !d.Shared {
				E = rows(erase, b, t, h, channel, exist)
			}
			y = d.dot(A, y.Sub(scaled(d.dot(E, s), γ)))
		}
		if what != mapping {
			setRows(written, y.To(d.DType), b, t, h, column, exist)
		}
		u := y
		if d.Rated {
			u = y.Mul(rate.LoadIf(exist, b, t, h).Col())
		}
		if what != mapping {
			o := d.dotAdd(scaled(d.dot(Q, s), γ), P, u)
			setRows(output, o.To(d.DType), b, t, h, column, exist)
		}
		if d.Decays {
			S, u = S.Mul(total.total().Exp()), u.Mul(total.less(G).Exp().Col())
			if spans != nil {
				span = span.Add(total.total())
			}
		}
		return []*Tile{d.dotAdd(S, K.T(), u), span}
	})
	S = walked[0]
	switch {
	case what == mapping:
		last.Store(S, b, h, segment, channel.Col(), column.Row())
		if spans != nil {
			spans.StoreIf(k.Program(0).Equal(0), walked[1].Exp(), b, h, segment)
		}
	case !d.cut():
		last.Store(S, b, h, channel.Col(), column.Row())
	}
	return k
}

// Forward is the whole forward pass: from q, k, z, first, and e, rate and g where
// they are, to o, last, y and what the gradient reads: the states on entry of each
// chunk, the segments' maps, and what is made of the chunks before.
func (d Delta) Forward() *Function {
	in, out := []string{"q", "k", "z", "first"}, append([]string{"o", "last", "y", "entry"}, d.made()...)
	var before []*Kernel
	if d.Decays {
		in = append(in, "g")
	}
	switch {
	case d.Channels:
		before = append(before, d.steps(), d.prepare())
	case d.Erases:
		before = append(before, d.within())
	case d.Decays:
		before = append(before, d.sums())
	}
	if d.Erases && !d.Shared {
		in = append(in, "e")
	}
	if d.Rated {
		in = append(in, "rate")
	}
	if d.cut() {
		out, before = append(out, "maps"), append(before, d.forward(mapping), d.join())
		if d.spanned() {
			out = append(out, "spans")
		}
	}
	f := newFunction(d.name("delta_forward"), in, out, append(before, d.forward(keeping))...)
	f.reader, f.lean = d.name("delta_backward"), append(before[:len(before):len(before)], d.forward(outputs))
	return f
}

// made are the arrays that are made of the chunks before any walk through them.
func (d Delta) made() (names []string) {
	switch {
	case d.Channels:
		names = append(names, "steps", "queried", "kept", "total", "pairs")
		if d.Erases {
			names = append(names, "erased")
		}
	case d.Decays:
		names = append(names, "sums")
	}
	if d.Erases {
		names = append(names, "inverse")
	}
	return names
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
