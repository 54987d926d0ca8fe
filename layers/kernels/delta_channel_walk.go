package kernels

import (
	. "github.com/kalmarz/kalmarz/layers/triton"
)

// forwardChannels walks through the chunks of a head over what prepare made.
func (d Delta) forwardChannels(what walk) *Kernel {
	k := New(d.name("forward"), d.Plan.Warps, d.Plan.Stages, d.V/d.columns(), d.B*d.H)
	c := d.prepared(k)
	write := d.values(k, "z")
	first := k.In("first", F32, d.stateDims()...)
	output := k.Out("o", d.DType, d.B, d.T, d.H, d.V)
	last := k.Out("last", F32, d.stateDims()...)
	written := k.Out("y", d.DType, d.B, d.T, d.H, d.V)
	var entry *Memory
	if what == keeping {
		entry = k.Out("entry", d.DType, d.entryDims()...)
	}

	b, h := d.head(k, 1)
	channel := k.Range(d.K)
	column := k.Program(0).Mul(d.columns()).Add(k.Range(d.columns()))
	S := first.Load(b, h, channel.Col(), column.Row())
	S = k.For(d.chunks(), d.Plan.Stages, []*Tile{S}, func(n *Tile, carry []*Tile) []*Tile {
		S, s := carry[0], carry[0].To(d.DType)
		t, exist := d.tokens(k, n, 0, d.C)
		x := c.read(k, b, h, n)
		if what == keeping {
			entry.Store(s, b, h, n, channel.Col(), column.Row())
		}
		y := rows(write, b, t, h, column, exist).To(F32)
		if d.Erases {
			y = d.dot(x.inverse, y.Sub(d.dot(x.erased, s)))
		}
		setRows(written, y.To(d.DType), b, t, h, column, exist)
		u := y
		if d.Rated {
			u = y.Mul(c.rate.LoadIf(exist, b, t, h).Col())
		}
		u = u.To(d.DType)
		setRows(output, d.dotAdd(d.dot(x.queried, s), x.pairs, u).To(d.DType), b, t, h, column, exist)
		return []*Tile{d.dotAdd(S.Mul(x.total.Col()), x.kept.T(), u)}
	})[0]
	last.Store(S, b, h, channel.Col(), column.Row())
	return k
}

// reverseChannels walks from the last chunk to the first; seen says that y has a
// gradient from outside.
func (d Delta) reverseChannels(seen bool) *Kernel {
	k := New(d.name("reverse"), d.Plan.Warps, d.Plan.Stages, d.V/d.columns(), d.B*d.H)
	c := d.prepared(k)
	dOut := d.values(k, "do")
	dLast := k.In("dlast", F32, d.stateDims()...)
	var dWritten *Memory
	if seen {
		dWritten = d.values(k, "dy")
	}
	dWrite := k.Out("dz", d.DType, d.B, d.T, d.H, d.V)
	dFirst := k.Out("dfirst", F32, d.stateDims()...)
	leaving := k.Out("leaving", d.DType, d.entryDims()...)

	b, h := d.head(k, 1)
	channel := k.Range(d.K)
	column := k.Program(0).Mul(d.columns()).Add(k.Range(d.columns()))
	R := dLast.Load(b, h, channel.Col(), column.Row())
	R = k.For(d.chunks(), d.Plan.Stages, []*Tile{R}, func(turn *Tile, carry []*Tile) []*Tile {
		R, s := carry[0], carry[0].To(d.DType)
		n := k.Full(I32, float64(d.chunks()-1)).Sub(turn)
		t, exist := d.tokens(k, n, 0, d.C)
		x := c.read(k, b, h, n)
		dO := rows(dOut, b, t, h, column, exist)
		leaving.Store(s, b, h, n, channel.Col(), column.Row())
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
		setRows(dWrite, dZ.To(d.DType), b, t, h, column, exist)
		return []*Tile{R}
	})[0]
	dFirst.Store(R, b, h, channel.Col(), column.Row())
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
