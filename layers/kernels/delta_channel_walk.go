package kernels

import (
	. "github.com/kalmarz/kalmarz/layers/triton"
)

// forwardChannels walks through the chunks of a head over what prepare made.
func (d Delta) forwardChannels(what walk) *Kernel {
	name, width, wide := d.walked(what)
	k := New(d.name(name), d.Plan.Warps, d.Plan.Stages, width/wide, d.B*d.H*d.segments())
	c := d.prepared(k)
	write := d.values(k, "z")
	var first, output, last, written, entry, spans *Memory
	if what == mapping {
		last = k.Out("maps", F32, d.mapsDims()...)
		if d.spanned() {
			spans = k.Out("spans", F32, d.spansDims()...)
		}
	} else {
		first = k.In(d.start(), F32, d.startDims()...)
		output, written = k.Out("o", d.DType, d.B, d.T, d.H, d.V), k.Out("y", d.DType, d.B, d.T, d.H, d.V)
		if !d.cut() {
			last = k.Out("last", F32, d.stateDims()...)
		}
	}
	if what == keeping {
		entry = k.Out("entry", d.DType, d.entryDims()...)
	}

	b, h, segment := d.segment(k, 1)
	channel := k.Range(d.K)
	column := k.Program(0).Mul(wide).Add(k.Range(wide))
	S, writes := d.enter(k, what, first, b, h, segment, channel, column)
	span := k.Full(F32, 1, d.K) // decay
	per := d.chunks() / d.segments()
	walked := k.For(per, d.Plan.Stages, []*Tile{S, span}, func(turn *Tile, carry []*Tile) []*Tile {
		S, s, span := carry[0], carry[0].To(d.DType), carry[1]
		n := segment.Mul(per).Add(turn)
		t, exist := d.tokens(k, n, 0, d.C)
		x := c.read(k, b, h, n)
		if what == keeping {
			entry.Store(s, b, h, n, channel.Col(), column.Row())
		}
		y := write.LoadIf(both(writes, col(exist)), b, t.Col(), h, column.Row()).To(F32)
		if d.Erases {
			y = d.dot(x.inverse, y.Sub(d.dot(x.erased, s)))
		}
		u := y
		if d.Rated {
			u = y.Mul(c.rate.LoadIf(exist, b, t, h).Col())
		}
		u = u.To(d.DType)
		if what != mapping {
			setRows(written, y.To(d.DType), b, t, h, column, exist)
			setRows(output, d.dotAdd(d.dot(x.queried, s), x.pairs, u).To(d.DType), b, t, h, column, exist)
		}
		if spans != nil {
			span = span.Mul(x.total)
		}
		return []*Tile{d.dotAdd(S.Mul(x.total.Col()), x.kept.T(), u), span}
	})
	S = walked[0]
	switch {
	case what == mapping:
		last.Store(S, b, h, segment, channel.Col(), column.Row())
		if spans != nil {
			spans.StoreIf(k.Program(0).Equal(0), walked[1], b, h, segment, channel)
		}
	case !d.cut():
		last.Store(S, b, h, channel.Col(), column.Row())
	}
	return k
}

// reverseChannels is reverse with a decay a channel.
func (d Delta) reverseChannels(seen, part bool) *Kernel {
	name := "reverse"
	if part {
		name = "reverse_part"
	}
	k := New(d.name(name), d.Plan.Warps, d.Plan.Stages, d.V/d.columns(), d.B*d.H*d.segments())
	c := d.prepared(k)
	dOut := d.values(k, "do")
	var dLast, dWritten *Memory
	if !part {
		dLast = k.In(d.end(), F32, d.startDims()...)
	}
	if seen {
		dWritten = d.values(k, "dy")
	}
	var dWrite, dFirst, leaving *Memory
	if !part {
		dWrite = k.Out("dz", d.DType, d.B, d.T, d.H, d.V)
		leaving = k.Out("leaving", d.DType, d.entryDims()...)
	}
	switch {
	case part:
		dFirst = k.Out("dparts", F32, d.startDims()...)
	case !d.cut():
		dFirst = k.Out("dfirst", F32, d.stateDims()...)
	}

	b, h, segment := d.segment(k, 1)
	channel := k.Range(d.K)
	column := k.Program(0).Mul(d.columns()).Add(k.Range(d.columns()))
	per := d.chunks() / d.segments()
	R := k.Full(F32, 0, d.K, d.columns())
	if !part {
		R = dLast.Load(d.startAt(b, h, segment, channel.Col(), column.Row())...)
	}
	R = k.For(per, d.Plan.Stages, []*Tile{R}, func(turn *Tile, carry []*Tile) []*Tile {
		R, s := carry[0], carry[0].To(d.DType)
		n := segment.Mul(per).Add(per - 1).Sub(turn)
		t, exist := d.tokens(k, n, 0, d.C)
		x := c.read(k, b, h, n)
		dO := rows(dOut, b, t, h, column, exist)
		if !part {
			leaving.Store(s, b, h, n, channel.Col(), column.Row())
		}
		dZ := d.dotAdd(d.dot(x.kept, s), x.pairs.T(), dO) // dU
		if d.Rated {
			dZ = dZ.Mul(c.rate.LoadIf(exist, b, t, h).Col())
		}
		if seen {
			dZ = dZ.Add(rows(dWritten, b, t, h, column, exist).To(F32))
		}
		R = d.dotAdd(R.Mul(x.total.Col()), x.queried.T(), dO)
		if d.Erases {
			dZ = d.dot(x.inverse.T(), dZ)
			R = d.dotAdd(R, x.erased.T(), dZ.Neg())
		}
		if !part {
			setRows(dWrite, dZ.To(d.DType), b, t, h, column, exist)
		}
		return []*Tile{R}
	})[0]
	switch {
	case part:
		dFirst.Store(R, b, h, segment, channel.Col(), column.Row())
	case !d.cut():
		dFirst.Store(R, b, h, channel.Col(), column.Row())
	}
	return k
}

// prepared are the arrays of prepare that the walks read, and the rates.
type prepared struct {
	d                                                  Delta
	queried, erased, kept, total, pairs, inverse, rate *Memory
}

// chunkTiles are those of one chunk.
type chunkTiles struct{ queried, erased, kept, total, pairs, inverse *Tile }

func (d Delta) prepared(k *Kernel) prepared {
	in := func(name string, dims []int) *Memory { return k.In(name, d.DType, dims...) }
	p := prepared{d: d, queried: in("queried", d.scaledDims()), kept: in("kept", d.scaledDims()),
		total: k.In("total", F32, d.totalDims()...), pairs: in("pairs", d.inverseDims())}
	if d.Erases {
		p.erased, p.inverse = in("erased", d.scaledDims()), in("inverse", d.inverseDims())
	}
	if d.Rated {
		p.rate = d.numbers(k, "rate")
	}
	return p
}

func (p prepared) read(k *Kernel, b, h, n *Tile) (x chunkTiles) {
	r, channel := k.Range(p.d.C), k.Range(p.d.K)
	vectors := func(m *Memory) *Tile { return m.Load(b, h, n, r.Col(), channel.Row()) }
	matrix := func(m *Memory) *Tile { return m.Load(b, h, n, r.Col(), r.Row()) }
	x = chunkTiles{queried: vectors(p.queried), kept: vectors(p.kept), total: p.total.Load(b, h, n, channel), pairs: matrix(p.pairs)}
	if p.d.Erases {
		x.erased, x.inverse = vectors(p.erased), matrix(p.inverse)
	}
	return x
}
