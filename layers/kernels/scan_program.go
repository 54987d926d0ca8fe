package kernels

import (
	. "github.com/kalmarz/kalmarz/layers/triton"
)

// program is one program's share: some channels of a batch row, all their states
// and one chunk.
type program struct {
	Scan
	*Kernel
	arrays
	b, n                   *Tile // batch row and chunk
	m, s                   *Tile // channels [C], states [S]
	someChannels, someBoth *Tile // which of them exist, [C], [S,C]; nil: all
	someStates             *Tile
	fixed                  []*Tile // what the cell makes of its statics
}

// kernel begins a kernel with a program for each batch row and block of channels,
// and for each of some chunks.
func (f Scan) kernel(what string, chunks int) *program {
	c, width := f.Plan.Channels, 1
	for width < f.S {
		width *= 2
	}
	k := New(f.name(what), 1, 1, f.blocks(), f.B*chunks)
	w := &program{Scan: f, Kernel: k, arrays: f.cell.arrays(), s: k.Range(width), m: k.Program(0).Mul(c).Add(k.Range(c))}
	row := k.Program(1)
	w.b, w.n = row.Div(chunks), row.Mod(chunks)
	if f.M%c != 0 {
		w.someChannels = w.m.Less(f.M)
		w.someBoth = w.someChannels.Row()
	}
	if width != f.S {
		w.someStates = w.s.Less(f.S)
		w.someBoth = both(w.someBoth, w.someStates.Col())
	}
	return w
}

func both(a, b *Tile) *Tile {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return a.And(b)
}

func row(x *Tile) *Tile {
	if x == nil {
		return nil
	}
	return x.Row()
}

// full is an [S,C] tile of one number.
func (w *program) full(value float64) *Tile {
	return w.Full(F32, value, w.s.Dims()[0], w.Plan.Channels)
}

// fix reads the statics.
func (w *program) fix() {
	var statics []*Tile
	for _, name := range w.statics {
		statics = append(statics, w.lanes(w.In(name, F32, w.M, w.S)))
	}
	w.cell.fix(w, statics)
}

// lanes reads [S,C] numbers of an array [...,M,S] at an index; lanes that do not
// exist get 0.
func (w *program) lanes(x *Memory, at ...any) *Tile {
	return x.LoadIf(w.someBoth, append(at, w.m.Row(), w.s.Col())...)
}

func (w *program) setLanes(x *Memory, value *Tile, at ...any) {
	x.StoreIf(w.someBoth, value, append(at, w.m.Row(), w.s.Col())...)
}

// ins and outs declare arrays of float32 lanes with a common beginning of their
// names.
func (w *program) ins(prefix string, names []string, dims []int) (ms []*Memory) {
	for _, n := range names {
		ms = append(ms, w.In(prefix+n, F32, dims...))
	}
	return ms
}

func (w *program) outs(prefix string, names []string, dims []int) (ms []*Memory) {
	for _, n := range names {
		ms = append(ms, w.Out(prefix+n, F32, dims...))
	}
	return ms
}

func (w *program) load(ms []*Memory, at ...any) (ts []*Tile) {
	for _, m := range ms {
		ts = append(ts, w.lanes(m, at...))
	}
	return ts
}

func (w *program) store(ms []*Memory, values []*Tile, at ...any) {
	for i, m := range ms {
		w.setLanes(m, values[i], at...)
	}
}

// firsts declares the arrays of the state before the sequence, before reads them.
func (w *program) firsts() []*Memory { return w.ins("", w.first, w.stateDims()) }

func (w *program) before(firsts []*Memory) []*Tile { return w.cell.enter(w.load(firsts, w.b)) }
