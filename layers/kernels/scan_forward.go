package kernels

import (
	"slices"

	. "github.com/kalmarz/kalmarz/layers/triton"
)

// compose makes what each chunk does to a state.
func (f Scan) compose() *Kernel {
	w := f.kernel("compose", f.Plan.Chunks)
	w.fix()
	effect := w.walk(w.moving(), f.cell.nothing(w), nil, func(_ *Tile, x token, effect []*Tile) []*Tile {
		return f.cell.extend(w, effect, x)
	})
	w.store(w.outs("chunk_", w.effect, w.chunkDims()), effect, w.b, w.n)
	return w.Kernel
}

// carry takes the state over the chunks, to the state before each.
func (f Scan) carry() *Kernel {
	w := f.kernel("carry", 1)
	s := w.before(w.firsts())
	effect, entry := w.ins("chunk_", w.effect, w.chunkDims()), w.outs("entry_", w.state, w.chunkDims())
	w.For(w.Plan.Chunks, 1, s, func(n *Tile, s []*Tile) []*Tile {
		w.store(entry, s, w.b, n)
		return f.cell.apply(w.load(effect, w.b, n), s)
	})
	return w.Kernel
}

// run takes each chunk from its own state; with saves it keeps the state before
// each turn, which the gradient reads.
func (f Scan) run(saves bool) *Kernel {
	w := f.kernel("run", f.Plan.Chunks)
	w.fix()
	var s []*Tile
	if w.Plan.Chunks == 1 {
		s = w.before(w.firsts())
	} else {
		s = w.load(w.ins("entry_", w.state, w.chunkDims()), w.b, w.n)
	}
	x := w.reading(w.moving())
	var outputs []*Memory
	for _, name := range w.outputs {
		outputs = append(outputs, w.Out(name, w.DType, w.channelDims()...))
	}
	last := w.outs("last_", w.first, w.stateDims())
	var begin func(*Tile, []*Tile)
	if saves {
		kept := w.outs("kept_", w.state, w.keptDims())
		begin = func(turn *Tile, s []*Tile) { w.store(kept, s, w.b, turn) }
	}
	s = w.walk(x, s, begin, func(t *Tile, x token, s []*Tile) []*Tile {
		next := f.cell.next(w, s, x)
		for i, y := range f.cell.read(w, next, x) {
			outputs[i].StoreIf(both(w.exists(t), w.someChannels), counted(x, y.Sum(0)).To(w.DType), w.b, t, w.m)
		}
		return next
	})
	ends := both(w.someBoth, w.n.Equal(w.Plan.Chunks-1)) // the last chunk
	for i, y := range f.cell.leave(s) {
		last[i].StoreIf(ends, y, w.b, w.m.Row(), w.s.Col())
	}
	return w.Kernel
}

// inputs are the arrays of Forward's inputs in order: tokens over channels, then
// over states, statics, the first state, and the mask where there is one.
func (f Scan) inputs() (names []string) {
	a := f.cell.arrays()
	for _, x := range [][]string{a.channels, a.states, a.queries, a.statics, a.first} {
		names = append(names, x...)
	}
	if f.Masked {
		names = append(names, "mask")
	}
	return names
}

func prefixed(prefix string, names []string, suffix string) (out []string) {
	for _, n := range names {
		out = append(out, prefix+n+suffix)
	}
	return out
}

// Forward is the whole forward pass, from the inputs to the outputs, the state
// after the sequence, last_*, and the states that the gradient reads, kept_*.
func (f Scan) Forward() *Function {
	a := f.cell.arrays()
	var before []*Kernel
	if f.Plan.Chunks > 1 {
		before = []*Kernel{f.compose(), f.carry()}
	}
	out := slices.Concat(a.outputs, prefixed("last_", a.first, ""), prefixed("kept_", a.state, ""))
	g := newFunction(f.name("forward"), f.inputs(), out, append(before, f.run(true))...)
	g.reader, g.lean = f.name("backward"), append(before[:len(before):len(before)], f.run(false))
	return g
}
