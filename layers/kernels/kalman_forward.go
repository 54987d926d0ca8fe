package kernels

import (
	. "github.com/kalmarz/kalmarz/layers/triton"
)

// elements are the names of what a chunk does to a state.
var elements = []string{"phi", "final", "mean", "fact", "doubt"}

// compose makes the elements of each chunk: Φ, C, m, h, J.
func (f Kalman) compose() *Kernel {
	w := f.kernel("compose", f.Plan.Chunks)
	w.process()
	x := w.observed()
	zero := w.Full(F32, 0, w.a.Dims()...)
	carry := w.walk(x, []*Tile{zero.Add(1), zero, zero, zero, zero}, nil, func(_ *Tile, x token, c []*Tile) []*Tile {
		Φ, h, J := c[0].Mul(w.a), c[3], c[4] // Φ of the prediction
		y := w.move(belief{c[1], c[2]}, x)
		said := y.lk.Mul(Φ).Mul(y.g) // by the token about the state before the chunk
		return here(x, []*Tile{
			Φ.Mul(y.g), y.P, y.mean,
			h.Add(said.Mul(x.v.Sub(x.k.Mul(y.predicted)))),
			J.Add(said.Mul(x.k).Mul(Φ)),
		}, c)
	})
	for i, name := range elements {
		w.setLanes(w.Out(name, F32, w.chunkDims()...), carry[i], w.b, w.n)
	}
	return w.Kernel
}

// carry takes the state over the chunks, to the state before each.
func (f Kalman) carry() *Kernel {
	w := f.kernel("carry", 1)
	s := w.first()
	var x []*Memory
	for _, name := range elements {
		x = append(x, w.In(name, F32, w.chunkDims()...))
	}
	P, mean := w.Out("entry_variance", F32, w.chunkDims()...), w.Out("entry_mean", F32, w.chunkDims()...)
	w.For(w.Plan.Chunks, 1, []*Tile{s.P, s.mean}, func(n *Tile, c []*Tile) []*Tile {
		w.setLanes(P, c[0], w.b, n)
		w.setLanes(mean, c[1], w.b, n)
		e := make([]*Tile, len(x))
		for i, m := range x {
			e[i] = w.lanes(m, 0, w.b, n)
		}
		Φ, C, m, h, J := e[0], e[1], e[2], e[3], e[4]
		Φr := J.Mul(c[0]).Add(1).Reciprocal().Mul(Φ)
		return []*Tile{C.Add(Φ.Mul(Φr).Mul(c[0])), m.Add(Φr.Mul(c[1].Add(h.Mul(c[0]))))}
	})
	return w.Kernel
}

// entry reads the state before the program's chunk.
func (w *program) entry() belief {
	if w.Plan.Chunks == 1 {
		return w.first()
	}
	P, mean := w.In("entry_variance", F32, w.chunkDims()...), w.In("entry_mean", F32, w.chunkDims()...)
	return belief{w.lanes(P, 0, w.b, w.n), w.lanes(mean, 0, w.b, w.n)}
}

// run filters each chunk from its own state; with saves it keeps the state before
// each turn, which the gradient reads.
func (f Kalman) run(saves bool) *Kernel {
	w := f.kernel("run", f.Plan.Chunks)
	w.process()
	s := w.entry()
	x := w.observed()
	x.query(&w)
	output := w.Out("y", w.DType, w.channelDims()...)
	var outVar *Memory
	if w.Variance {
		outVar = w.Out("y_var", w.DType, w.channelDims()...)
	}
	λ, η := w.Out("last_lambda", F32, w.stateDims()...), w.Out("last_eta", F32, w.stateDims()...)
	var begin func(*Tile, []*Tile)
	if saves {
		P, mean := w.Out("kept_variance", F32, w.keptDims()...), w.Out("kept_mean", F32, w.keptDims()...)
		begin = func(turn *Tile, c []*Tile) {
			w.setLanes(P, c[0], w.b, turn)
			w.setLanes(mean, c[1], w.b, turn)
		}
	}
	last := w.walk(x, []*Tile{s.P, s.mean}, begin, func(t *Tile, x token, c []*Tile) []*Tile {
		s := w.move(belief{c[0], c[1]}, x).belief
		out := func(to *Memory, value *Tile) {
			sum := value.Sum(0)
			if x.here != nil {
				sum = x.here.Where(sum, 0.0)
			}
			to.StoreIf(both(w.exists(t), w.channels), sum.To(w.DType), w.b, t, w.m)
		}
		mean, P := w.seen(s)
		out(output, mean.Mul(x.q))
		if w.Variance {
			out(outVar, P.Mul(x.q).Mul(x.q))
		}
		return here(x, []*Tile{s.P, s.mean}, c)
	})
	ends := both(w.both, w.n.Equal(w.Plan.Chunks-1)) // the last chunk
	precision := last[0].Reciprocal()
	λ.StoreIf(ends, precision, w.b, w.m.Row(), w.s.Col())
	η.StoreIf(ends, last[1].Mul(precision), w.b, w.m.Row(), w.s.Col())
	return w.Kernel
}

// seen is the mean and the variance that are read.
func (w *program) seen(s belief) (mean, P *Tile) {
	if w.Prior {
		return w.a.Mul(s.mean), w.a.Mul(w.a).Mul(s.P).Add(w.p)
	}
	return s.mean, s.P
}

// Forward is the whole forward pass: from v, precision, k, a, p, lambda, eta, q, and
// mask where there is one, to y, last_lambda, last_eta, y_var if it is asked for,
// and the states that the gradient reads.
func (f Kalman) Forward() *Function {
	in := []string{"v", "precision", "k", "q", "a", "p", "lambda", "eta"}
	out := []string{"y", "last_lambda", "last_eta"}
	if f.Masked {
		in = append(in, "mask")
	}
	if f.Variance {
		out = append(out, "y_var")
	}
	out = append(out, "kept_variance", "kept_mean")
	var before []*Kernel
	if f.Plan.Chunks > 1 {
		before = []*Kernel{f.compose(), f.carry()}
	}
	g := newFunction(f.name("kalman_forward"), in, out, append(before, f.run(true))...)
	g.reader, g.lean = f.name("kalman_backward"), append(before[:len(before):len(before)], f.run(false))
	return g
}
