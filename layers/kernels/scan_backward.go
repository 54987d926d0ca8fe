package kernels

import (
	"slices"

	. "github.com/kalmarz/kalmarz/layers/triton"
)

// slopes makes the derivatives of each chunk.
func (f Scan) slopes() *Kernel {
	w := f.kernel("slopes", f.Plan.Chunks)
	w.fix()
	kept := w.load(w.ins("kept_", w.state, w.keptDims()), w.b, w.n.Mul(w.turns()))
	n := len(kept)
	c := w.walk(w.graded(w.reading(w.moving())), append(kept, f.cell.flat(w)...), nil, func(_ *Tile, x token, c []*Tile) []*Tile {
		next, slopes := f.cell.slope(w, c[:n], c[n:], x)
		return slices.Concat(next, slopes)
	})
	w.store(w.outs("chunk_", w.arrays.slopes, w.chunkDims()), c[n:], w.b, w.n)
	return w.Kernel
}

// after is the gradient of the state after the sequence.
func (w *program) after() []*Tile {
	read := func(prefix string) []*Tile { return w.load(w.ins(prefix, w.first, w.stateDims()), w.b) }
	return w.cell.leaveGradient(read("last_"), read("dlast_"))
}

// arrive writes the gradient of the state before the sequence, given both.
func (w *program) arrive(s, d []*Tile) {
	w.store(w.outs("d", w.first, w.stateDims()), w.cell.enterGradient(s, d), w.b)
}

// carryBack takes the gradient of the state over the chunks, to that of the state
// after each.
func (f Scan) carryBack() *Kernel {
	w := f.kernel("carry_back", 1)
	s, d := w.before(w.firsts()), w.after()
	slopes, exit := w.ins("chunk_", w.arrays.slopes, w.chunkDims()), w.outs("exit_", w.state, w.chunkDims())
	d = w.For(w.Plan.Chunks, 1, d, func(turn *Tile, d []*Tile) []*Tile {
		n := w.Full(I32, float64(w.Plan.Chunks-1)).Sub(turn)
		w.store(exit, d, w.b, n)
		return f.cell.applyBack(w.load(slopes, w.b, n), d)
	})
	w.arrive(s, d)
	return w.Kernel
}

// reverse makes the gradients of all inputs; with one chunk those of the first
// state too.
func (f Scan) reverse() *Kernel {
	w := f.kernel("reverse", f.Plan.Chunks)
	w.Registers = f.Plan.Registers
	w.fix()
	var d []*Tile
	var firsts []*Memory
	if f.Plan.Chunks == 1 {
		d, firsts = w.after(), w.firsts() // read at the end, to hold less until then
	} else {
		d = w.load(w.ins("exit_", w.state, w.chunkDims()), w.b, w.n)
	}
	some := w.moving()
	all := w.graded(w.reading(some))
	kept := w.ins("kept_", w.state, w.keptDims())
	var channels, states []*Memory
	for _, name := range w.channels {
		channels = append(channels, w.Out("d"+name, w.DType, w.channelDims()...))
	}
	for _, name := range slices.Concat(w.states, w.queries) {
		states = append(states, w.Out("d"+name+"_parts", F32, w.B, w.blocks(), w.T, w.S))
	}
	n, nd := w.Plan.Turn, len(d)
	for range w.sums {
		d = append(d, w.full(0))
	}
	order := w.Range(n)
	d = w.For(w.turns(), 1, d, func(i *Tile, d []*Tile) []*Tile {
		turn := w.n.Mul(w.turns()).Add(w.turns() - 1).Sub(i)
		first := turn.Mul(n)
		s := w.load(kept, w.b, turn)
		var raw [][]*Tile
		for i := range n - 1 {
			raw = append(raw, w.fetch(some, first.Add(i)))
		}
		before := [][]*Tile{s}
		for i := range n - 1 {
			x := w.token(some, first.Add(i), raw[i])
			s = here(x, f.cell.next(w, s, x), s)
			before = append(before, s)
		}
		// What was read is read again, one token ahead, to hold less at a time.
		// Sums over channels fill the columns of a tile, which is written at once.
		coming := w.fetch(all, first.Add(n-1))
		turned := make([]*Tile, len(states))
		for j := range turned {
			turned[j] = w.Full(F32, 0, w.s.Dims()[0], n)
		}
		for i := n - 1; i >= 0; i-- {
			t, now := first.Add(i), coming
			if i > 0 {
				coming = w.fetch(all, first.Add(i-1))
			}
			x := w.token(all, t, now)
			ds, sums, of := f.cell.pull(w, x, before[i], d[:nd], d[nd:])
			d = here(x, slices.Concat(ds, sums), d)
			for j, to := range channels {
				to.StoreIf(both(w.exists(t), w.someChannels), counted(x, of.channels[j].Sum(0)).To(w.DType), w.b, t, w.m)
			}
			for j := range states {
				turned[j] = order.Equal(i).Row().Where(counted(x, of.states[j].Sum(1)).Col(), turned[j])
			}
		}
		t := first.Add(order)
		for j, to := range states {
			to.StoreIf(both(row(w.exists(t)), col(w.someStates)), turned[j], w.b, w.Program(0), t.Row(), w.s.Col())
		}
		return d
	})
	for i, g := range f.cell.learnt(w, d[nd:]) {
		w.setLanes(w.Out("d"+w.statics[i]+"_parts", F32, w.chunkDims()...), g, w.b, w.n)
	}
	if f.Plan.Chunks == 1 {
		w.arrive(w.before(firsts), d[:nd])
	}
	return w.Kernel
}

// Backward is the gradient of Forward, whose inputs and outputs it reads beside
// the gradients of outputs and of the last state. It writes the gradients of
// Forward's inputs but the mask, in their order: those over states in parts
// [B,blocks,T,S], those of statics [B,N,M,S].
func (f Scan) Backward() *Function {
	a := f.cell.arrays()
	var before []*Kernel
	if f.Plan.Chunks > 1 {
		before = []*Kernel{f.slopes(), f.carryBack()}
	}
	in := slices.Concat(f.inputs(), prefixed("d", a.outputs, ""), prefixed("last_", a.first, ""), prefixed("dlast_", a.first, ""), prefixed("kept_", a.state, ""))
	out := slices.Concat(prefixed("d", a.channels, ""), prefixed("d", slices.Concat(a.states, a.queries, a.statics), "_parts"), prefixed("d", a.first, ""))
	return newFunction(f.name("backward"), in, out, append(before, f.reverse())...)
}
