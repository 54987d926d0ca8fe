package kernels

import (
	. "github.com/kalmarz/kalmarz/layers/triton"
)

// forwardChannels walks through the chunks of a head over what prepare made.
func (d Delta) forwardChannels(what walk) *Kernel {
	w := d.walkAhead(what)
	k := w.k
	p := d.prepared(k)
	S := w.begin()

	b, h := w.b, w.h
	span := k.Full(F32, 1, d.K) // decay
	walked := k.For(w.per(), d.Plan.Stages, []*Tile{S, span}, func(turn *Tile, carry []*Tile) []*Tile {
		S, s, span := carry[0], carry[0].To(d.DType), carry[1]
		c := w.segment.Mul(w.per()).Add(turn)
		t, exist := d.tokens(k, c, 0, d.C)
		x := p.read(k, b, h, c)
		w.keep(s, c)
		y := w.z(t, exist)
		if d.Erases {
			y = d.dot(x.inverse, y.Sub(d.dot(x.erased, s)))
		}
		u := y
		if d.Rated {
			u = y.Mul(p.rate.LoadIf(exist, b, t, h).Col())
		}
		u = u.To(d.DType)
		if what != mapping {
			setRows(w.written, y.To(d.DType), b, t, h, w.column, exist)
			setRows(w.output, d.dotAdd(d.dot(x.queried, s), x.pairs, u).To(d.DType), b, t, h, w.column, exist)
		}
		if w.spans != nil {
			span = span.Mul(x.total)
		}
		return []*Tile{d.dotAdd(S.Mul(x.total.Col()), x.kept.T(), u), span}
	})
	w.finish(walked[0], walked[1])
	return k
}

// reverseChannels is reverse with a decay a channel.
func (d Delta) reverseChannels(seen, part bool) *Kernel {
	w := d.walkBack(seen, part)
	k := w.k
	p := d.prepared(k)
	R := w.begin()

	b, h := w.b, w.h
	R = k.For(w.per(), d.Plan.Stages, []*Tile{R}, func(turn *Tile, carry []*Tile) []*Tile {
		R, s := carry[0], carry[0].To(d.DType)
		c := w.end.Sub(turn)
		t, exist := d.tokens(k, c, 0, d.C)
		x := p.read(k, b, h, c)
		dO := rows(w.dOut, b, t, h, w.column, exist)
		w.keep(s, c)
		dZ := d.dotAdd(d.dot(x.kept, s), x.pairs.T(), dO) // dU
		if d.Rated {
			dZ = dZ.Mul(p.rate.LoadIf(exist, b, t, h).Col())
		}
		dZ = w.seen(dZ, t, exist)
		R = d.dotAdd(R.Mul(x.total.Col()), x.queried.T(), dO)
		if d.Erases {
			dZ = d.dot(x.inverse.T(), dZ)
			R = d.dotAdd(R, x.erased.T(), dZ.Neg())
		}
		w.set(dZ, t, exist)
		return []*Tile{R}
	})[0]
	w.finish(R)
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
