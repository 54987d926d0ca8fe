package kernels

// The gradient of kalman.go. With D, E the gradients of the mean and the variance
// after a token, those of the outputs included, e = v - k a μ what surprised the
// filter and F = E + D Λk e:
//
//	dv = Σ_s D P' Λk         dφ = -F P'²
//	dΛ = Σ_s D P' k e + dφ k²
//	dk = Σ_m D P' Λ (e - k a μ) + 2 dφ Λ k
//	da = D g μ + 2 a g² F P  dp = g² F
//	D <- a g D               E <- a² g² F
//
// two scalar recurrences. A program goes through its turns from the last; in each it
// makes the states again from the one that was kept. Sums over m, and those of a
// and p over batch rows and chunks, are left in parts, one a program.
//
// The gradient of the state before a chunk is linear in that of the state after it.
// The factors and the offset, what the chunk's own outputs ask for, are made for
// all chunks at once from the first token on, as derivatives of the state by that
// before the chunk.

import (
	. "github.com/kalmarz/kalmarz/layers/triton"
)

// slopes are the names of what takes a gradient over a chunk: dμ/dμ, dP/dP, dμ/dP of
// the state after by that before, and the offsets of D and of E.
var slopes = []string{"mean_slope", "variance_slope", "cross_slope", "mean_offset", "variance_offset"}

func (f Kalman) slopes() *Kernel {
	w := f.kernel("slopes", f.Plan.Chunks)
	w.process()
	keptP, keptMean := w.kept()
	start := w.n.Mul(w.turns())
	x := w.observed()
	x.query(&w)
	x.gradients(&w)
	zero := w.Full(F32, 0, w.a.Dims()...)
	carry := w.walk(x, []*Tile{w.lanes(keptP, 0, w.b, start), w.lanes(keptMean, 0, w.b, start), zero.Add(1), zero.Add(1), zero, zero, zero}, nil, func(_ *Tile, x token, c []*Tile) []*Tile {
		y := w.move(belief{c[0], c[1]}, x)
		ag := w.a.Mul(y.g)
		byP := w.a2.Mul(y.g).Mul(y.g).Mul(c[3])
		cross := ag.Mul(c[4]).Add(y.lk.Mul(x.v.Sub(x.k.Mul(y.predicted))).Mul(byP))
		byMean := ag.Mul(c[2])
		dMean, dP := w.asked(x)
		E := c[6].Add(dMean.Mul(cross))
		if dP != nil {
			E = E.Add(dP.Mul(byP))
		}
		return here(x, []*Tile{y.P, y.mean, byMean, byP, cross, c[5].Add(dMean.Mul(byMean)), E}, c)
	})
	for i, name := range slopes {
		w.setLanes(w.Out(name, F32, w.chunkDims()...), carry[2+i], w.b, w.n)
	}
	return w.Kernel
}

// kept are the states before each turn.
func (w *program) kept() (P, mean *Memory) {
	return w.In("kept_variance", F32, w.keptDims()...), w.In("kept_mean", F32, w.keptDims()...)
}

// asked is what the gradients of the outputs ask of the mean and the variance after
// a token; without y_var nothing of the latter.
func (w *program) asked(x token) (dMean, dP *Tile) {
	dMean = x.dy.Mul(x.q)
	if w.Prior {
		dMean = dMean.Mul(w.a)
	}
	if w.Variance {
		dP = x.dVar.Mul(x.q).Mul(x.q)
		if w.Prior {
			dP = dP.Mul(w.a.Mul(w.a))
		}
	}
	return dMean, dP
}

// leave is the gradient D, E of the state after the sequence, from those of λ and η.
func (w *program) leave() (D, E *Tile) {
	read := func(name string) *Tile { return w.lanes(w.In(name, F32, w.stateDims()...), 0, w.b) }
	λ, η, dλ, dη := read("last_lambda"), read("last_eta"), read("dlast_lambda"), read("dlast_eta")
	return dη.Mul(λ), λ.Mul(dλ.Mul(λ).Add(dη.Mul(η))).Neg()
}

// arrive writes the gradient of λ and η before the sequence.
func (w *program) arrive(s belief, D, E *Tile) {
	w.setLanes(w.Out("dlambda", F32, w.stateDims()...), s.P.Mul(s.P.Mul(E).Add(s.mean.Mul(D))).Neg(), w.b)
	w.setLanes(w.Out("deta", F32, w.stateDims()...), s.P.Mul(D), w.b)
}

// carryBack takes the gradient of the state over the chunks, to that of the state
// after each.
func (f Kalman) carryBack() *Kernel {
	w := f.kernel("carry_back", 1)
	s := w.first()
	D, E := w.leave()
	var x []*Memory
	for _, name := range slopes {
		x = append(x, w.In(name, F32, w.chunkDims()...))
	}
	exitD, exitE := w.Out("exit_mean", F32, w.chunkDims()...), w.Out("exit_variance", F32, w.chunkDims()...)
	d := w.For(w.Plan.Chunks, 1, []*Tile{D, E}, func(turn *Tile, d []*Tile) []*Tile {
		n := w.Full(I32, float64(w.Plan.Chunks-1)).Sub(turn)
		w.setLanes(exitD, d[0], w.b, n)
		w.setLanes(exitE, d[1], w.b, n)
		y := make([]*Tile, len(x))
		for i, m := range x {
			y[i] = w.lanes(m, 0, w.b, n)
		}
		return []*Tile{y[0].Mul(d[0]).Add(y[3]), y[1].Mul(d[1]).Add(y[2].Mul(d[0])).Add(y[4])}
	})
	w.arrive(s, d[0], d[1])
	return w.Kernel
}

// reverse makes the gradients of all inputs, of one chunk those of the first state
// too.
func (f Kalman) reverse() *Kernel {
	w := f.kernel("reverse", f.Plan.Chunks)
	w.process()
	var D, E *Tile
	if f.Plan.Chunks == 1 {
		D, E = w.leave()
	} else {
		D = w.lanes(w.In("exit_mean", F32, w.chunkDims()...), 0, w.b, w.n)
		E = w.lanes(w.In("exit_variance", F32, w.chunkDims()...), 0, w.b, w.n)
	}
	some := w.observed() // what moves the state
	x := some
	x.query(&w)
	x.gradients(&w)
	keptP, keptMean := w.kept()
	out := struct{ v, precision, k, q *Memory }{
		v: w.Out("dv", w.DType, w.channelDims()...), precision: w.Out("dprecision", w.DType, w.channelDims()...),
		k: w.Out("dk_parts", F32, w.B, w.blocks(), w.T, w.S), q: w.Out("dq_parts", F32, w.B, w.blocks(), w.T, w.S)}
	n, zero := w.Plan.Turn, w.Full(F32, 0, w.a.Dims()...)
	order := w.Range(n)
	d := w.For(w.turns(), 1, []*Tile{D, E, zero, zero, zero}, func(i *Tile, d []*Tile) []*Tile {
		turn := w.n.Mul(w.turns()).Add(w.turns() - 1).Sub(i)
		first := turn.Mul(n)
		s := []*Tile{w.lanes(keptP, 0, w.b, turn), w.lanes(keptMean, 0, w.b, turn)}
		var raw [][]*Tile
		for i := range n - 1 {
			raw = append(raw, w.read(some, first.Add(i)))
		}
		states := [][]*Tile{s}
		for i := range n - 1 {
			x := w.token(some, first.Add(i), raw[i])
			y := w.move(belief{s[0], s[1]}, x)
			s = here(x, []*Tile{y.P, y.mean}, s)
			states = append(states, s)
		}
		// What was read is read again, one token ahead, to hold less at a time.
		all := w.read(x, first.Add(n-1))
		dk := w.Full(F32, 0, w.s.Dims()[0], n)
		dq := dk
		for i := n - 1; i >= 0; i-- {
			now := all
			if i > 0 {
				all = w.read(x, first.Add(i-1))
			}
			t := first.Add(i)
			x := w.token(x, t, now)
			next, tok := w.pull(x, belief{states[i][0], states[i][1]}, d)
			d = here(x, next, d)
			if x.here != nil {
				for _, y := range []**Tile{&tok.v, &tok.precision, &tok.k, &tok.q} {
					*y = x.here.Where(*y, 0.0)
				}
			}
			own := both(w.exists(t), w.channels)
			out.v.StoreIf(own, tok.v.To(w.DType), w.b, t, w.m)
			out.precision.StoreIf(own, tok.precision.To(w.DType), w.b, t, w.m)
			here := order.Equal(i).Row()
			dk, dq = here.Where(tok.k.Col(), dk), here.Where(tok.q.Col(), dq)
		}
		t := first.Add(order)
		own := both(row(w.exists(t)), col(w.states))
		out.k.StoreIf(own, dk, w.b, w.Program(0), t.Row(), w.s.Col())
		out.q.StoreIf(own, dq, w.b, w.Program(0), t.Row(), w.s.Col())
		return d
	})
	w.setLanes(w.Out("da_parts", F32, w.chunkDims()...), d[3].Add(d[2].Mul(w.a).Mul(2)), w.b, w.n)
	w.setLanes(w.Out("dp_parts", F32, w.chunkDims()...), d[4], w.b, w.n)
	if f.Plan.Chunks == 1 {
		w.arrive(w.first(), d[0], d[1])
	}
	return w.Kernel
}

// share is a program's share of a token's gradients: v, Λ [C], k, q [S].
type share struct{ v, precision, k, q *Tile }

// pull takes d = D, E and the sums so far of the gradients of a², a and p over a
// token, with the state s before it.
func (w *program) pull(x token, s belief, d []*Tile) (next []*Tile, to share) {
	D, E, da2, da, dp := d[0], d[1], d[2], d[3], d[4]
	y := w.move(s, x)
	mean, P := w.seen(y.belief)
	dq := mean.Mul(x.dy)
	dMean, dP := w.asked(x)
	D = D.Add(dMean)
	if w.Variance {
		dq = dq.Add(P.Mul(x.dVar).Mul(x.q.Add(x.q)))
		E = E.Add(dP)
	}
	if w.Prior {
		da = da.Add(y.mean.Mul(x.dy).Mul(x.q))
		if w.Variance {
			asked := x.dVar.Mul(x.q).Mul(x.q)
			da2, dp = da2.Add(asked.Mul(y.P)), dp.Add(asked)
		}
	}
	surprise := x.v.Sub(x.k.Mul(y.predicted))
	F := E.Add(D.Mul(y.lk).Mul(surprise))
	DP := D.Mul(y.P)
	DPk, DPe := DP.Mul(x.k), DP.Mul(surprise)
	dφk := F.Mul(y.P).Mul(y.P).Mul(x.k).Neg()
	to = share{
		v:         D.Mul(y.weight).Sum(0),
		precision: DPe.Add(dφk).Mul(x.k).Sum(0),
		k:         DPe.Sub(DPk.Mul(y.predicted)).Add(dφk.Add(dφk)).Mul(x.precision).Sum(1),
		q:         dq.Sum(1),
	}
	Dg, R := D.Mul(y.g), F.Mul(y.g).Mul(y.g)
	return []*Tile{w.a.Mul(Dg), w.a2.Mul(R), da2.Add(R.Mul(s.P)), da.Add(Dg.Mul(s.mean)), dp.Add(R)}, to
}

// Backward is the gradient of Forward, whose inputs and outputs it reads beside
// dy, dlast_lambda, dlast_eta and, if there is y_var, dy_var. It writes dv,
// dprecision, dlambda, deta, and in parts those of k and q [B,blocks,T,S] and of a
// and p [B,N,M,S].
func (f Kalman) Backward() *Function {
	in := []string{"v", "precision", "k", "q", "a", "p", "lambda", "eta", "dy", "last_lambda", "last_eta", "dlast_lambda", "dlast_eta", "kept_variance", "kept_mean"}
	out := []string{"dv", "dprecision", "dk_parts", "dq_parts", "da_parts", "dp_parts", "dlambda", "deta"}
	if f.Masked {
		in = append(in, "mask")
	}
	if f.Variance {
		in = append(in, "dy_var")
	}
	var before []*Kernel
	if f.Plan.Chunks > 1 {
		before = []*Kernel{f.slopes(), f.carryBack()}
	}
	return newFunction(f.name("kalman_backward"), in, out, append(before, f.reverse())...)
}
