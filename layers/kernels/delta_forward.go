package kernels

import (
	. "github.com/kalmarz/kalmarz/layers/triton"
)

// forward walks through the chunks of a head.
func (d Delta) forward(what walk) *Kernel {
	if d.Channels {
		return d.forwardChannels(what)
	}
	w := d.walkAhead(what)
	k := w.k
	keys := d.keys(k, "k")
	var query, inverse *Memory
	if what != mapping {
		query = d.keys(k, "q")
	}
	if d.Erases {
		inverse = k.In("inverse", d.DType, d.inverseDims()...)
	}
	erase, rate, sums := d.gates(k)
	S := w.begin()

	b, h, channel, r := w.b, w.h, w.channel, k.Range(d.C)
	span := k.Full(F32, 0) // log-decay
	walked := k.For(w.per(), d.Plan.Stages, []*Tile{S, span}, func(turn *Tile, carry []*Tile) []*Tile {
		S, s, span := carry[0], carry[0].To(d.DType), carry[1]
		c := w.segment.Mul(w.per()).Add(turn)
		t, exist := d.tokens(k, c, 0, d.C)
		K := rows(keys, b, t, h, channel, exist)
		var P, Q, γ *Tile
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
		w.keep(s, c)

		y := w.z(t, exist)
		if d.Erases {
			A, E := inverse.Load(b, h, c, r.Col(), r.Row()), K
			if !d.Shared {
				E = rows(erase, b, t, h, channel, exist)
			}
			y = d.dot(A, y.Sub(scaled(d.dot(E, s), γ)))
		}
		if what != mapping {
			setRows(w.written, y.To(d.DType), b, t, h, w.column, exist)
		}
		u := y
		if d.Rated {
			u = y.Mul(rate.LoadIf(exist, b, t, h).Col())
		}
		if what != mapping {
			o := d.dotAdd(scaled(d.dot(Q, s), γ), P, u)
			setRows(w.output, o.To(d.DType), b, t, h, w.column, exist)
		}
		if d.Decays {
			S, u = S.Mul(total.total().Exp()), u.Mul(total.less(G).Exp().Col())
			if w.spans != nil {
				span = span.Add(total.total())
			}
		}
		return []*Tile{d.dotAdd(S, K.T(), u), span}
	})
	w.finish(walked[0], walked[1].Exp())
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
