package kernels

// What walks through the chunks of a segment have in common, whether the decay is of
// a head or of a channel. A walk declares what it reads, then what it writes: begin
// does the latter.

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

// place is where a program is: a segment of a head, and columns of its state.
type place struct {
	d                              Delta
	k                              *Kernel
	wide                           int // columns of a program
	b, h, segment, channel, column *Tile
}

// per is the number of chunks of a segment.
func (p *place) per() int { return p.d.chunks() / p.d.segments() }

func (p *place) find() {
	at, k := p.k.Program(1), p.k
	bh := at.Div(p.d.segments())
	p.b, p.h, p.segment = bh.Div(p.d.H), bh.Mod(p.d.H), at.Mod(p.d.segments())
	p.channel, p.column = k.Range(p.d.K), k.Program(0).Mul(p.wide).Add(k.Range(p.wide))
}

// state is the program's place in an array of states of heads or, if there are
// several segments, of segments.
func (p *place) state() []any {
	if p.d.cut() {
		return []any{p.b, p.h, p.segment, p.channel.Col(), p.column.Row()}
	}
	return []any{p.b, p.h, p.channel.Col(), p.column.Row()}
}

// chunk is its place in an array of states of chunks.
func (p *place) chunk(c *Tile) []any {
	return []any{p.b, p.h, c, p.channel.Col(), p.column.Row()}
}

// ahead is a walk forward.
type ahead struct {
	place
	what                                              walk
	write, first, output, last, written, entry, spans *Memory
	writes                                            *Tile // columns that are written to; nil for all
}

// walkAhead reads z and, unless it maps, the state on entry.
func (d Delta) walkAhead(what walk) *ahead {
	name, width, wide := "forward", d.V, d.columns()
	if what == mapping {
		name, width = "maps", d.mapsWidth()
		if d.Erases {
			wide = min(wide, d.K)
		}
	}
	k := New(d.name(name), d.Plan.Warps, d.Plan.Stages, width/wide, d.B*d.H*d.segments())
	w := &ahead{place: place{d: d, k: k, wide: wide}, what: what, write: d.values(k, "z")}
	if what != mapping {
		w.first = k.In(d.start(), F32, d.startDims()...)
	}
	return w
}

// begin returns the state that the walk begins with.
func (w *ahead) begin() (S *Tile) {
	d, k := w.d, w.k
	if w.what == mapping {
		w.last = k.Out("maps", F32, d.mapsDims()...)
		if d.spanned() {
			w.spans = k.Out("spans", F32, d.spansDims()...)
		}
	} else {
		w.output, w.written = k.Out("o", d.DType, d.B, d.T, d.H, d.V), k.Out("y", d.DType, d.B, d.T, d.H, d.V)
		if !d.cut() {
			w.last = k.Out("last", F32, d.stateDims()...)
		}
	}
	if w.what == keeping {
		w.entry = k.Out("entry", d.DType, d.entryDims()...)
	}
	w.find()
	if w.what != mapping {
		return w.first.Load(w.state()...)
	}
	w.writes = w.column.Less(d.V).Row()
	return w.channel.Col().Equal(w.column.Row().Sub(d.V)).Where(k.Full(F32, 1), 0)
}

// z reads what tokens write.
func (w *ahead) z(t, exist *Tile) *Tile {
	return w.write.LoadIf(both(w.writes, col(exist)), w.b, t.Col(), w.h, w.column.Row()).To(F32)
}

// keep keeps the state on entry of a chunk, where that is asked for.
func (w *ahead) keep(s, c *Tile) {
	if w.entry != nil {
		w.entry.Store(s, w.chunk(c)...)
	}
}

// finish takes the state at the end and, where there are spans, the segment's decay.
func (w *ahead) finish(S, span *Tile) {
	if w.last != nil { // else join makes it
		w.last.Store(S, w.state()...)
	}
	if w.spans != nil {
		w.spans.StoreIf(w.k.Program(0).Equal(0), span, w.d.span(w.b, w.h, w.segment, w.channel)...)
	}
}

// back is a walk from the last chunk of a segment to the first. Of a part only the
// gradient of the state on entry is made, from none at the segment's end.
type back struct {
	place
	part                                           bool
	dOut, dLast, dWritten, dWrite, dFirst, leaving *Memory
	end                                            *Tile // the segment's last chunk
}

// walkBack reads the gradients of o, of the last state and, if it is seen, of y.
func (d Delta) walkBack(seen, part bool) *back {
	name := "reverse"
	if part {
		name = "reverse_part"
	}
	k := New(d.name(name), d.Plan.Warps, d.Plan.Stages, d.V/d.columns(), d.B*d.H*d.segments())
	w := &back{place: place{d: d, k: k, wide: d.columns()}, part: part, dOut: d.values(k, "do")}
	if !part {
		w.dLast = k.In(d.end(), F32, d.startDims()...)
	}
	if seen {
		w.dWritten = d.values(k, "dy")
	}
	return w
}

// begin returns the gradient of the state at the end.
func (w *back) begin() (R *Tile) {
	d, k := w.d, w.k
	if !w.part {
		w.dWrite = k.Out("dz", d.DType, d.B, d.T, d.H, d.V)
		w.leaving = k.Out("leaving", d.DType, d.entryDims()...)
	}
	switch {
	case w.part:
		w.dFirst = k.Out("dparts", F32, d.startDims()...)
	case !d.cut():
		w.dFirst = k.Out("dfirst", F32, d.stateDims()...)
	}
	w.find()
	w.end = w.segment.Mul(w.per()).Add(w.per() - 1)
	if w.part {
		return k.Full(F32, 0, d.K, w.wide)
	}
	return w.dLast.Load(w.state()...)
}

// keep keeps the gradient of the state that leaves a chunk.
func (w *back) keep(s, c *Tile) {
	if !w.part {
		w.leaving.Store(s, w.chunk(c)...)
	}
}

// seen adds the gradient of y from outside, if there is one.
func (w *back) seen(dZ, t, exist *Tile) *Tile {
	if w.dWritten == nil {
		return dZ
	}
	return dZ.Add(rows(w.dWritten, w.b, t, w.h, w.column, exist).To(F32))
}

// set writes the gradient of z.
func (w *back) set(dZ, t, exist *Tile) {
	if !w.part {
		setRows(w.dWrite, dZ.To(w.d.DType), w.b, t, w.h, w.column, exist)
	}
}

// finish takes the gradient of the state on entry.
func (w *back) finish(R *Tile) {
	if w.dFirst != nil { // else joinBack makes it
		w.dFirst.Store(R, w.state()...)
	}
}
