package kernels

// The gradient of delta.go's chunks. With dO, dY the gradients of o and y from
// outside, R that of the state that leaves the chunk and w = exp(G_C - G):
//
//	dU = Pᵀ dO + w∘(K R)     dZ = Aᵀ (β∘dU + dY)
//	R <- γ_C R + Qᵀ (γ∘dO) - Eᵀ (γ∘dZ)
//
// One program for a head and some columns of v walks through the chunks from the
// last; it keeps R and dZ. All else is local to a chunk, with S the state on
// entry and D_rs = exp(G_r - G_s):
//
//	p_rs = (dO_r·y_s) D_rs, s <= r      dQ = γ∘(dO Sᵀ) + (p β) K
//	t_rs = -(dZ_r·y_s) D_rs, s < r      dE = -γ∘(dZ Sᵀ) + (t β) K
//	n = w∘(y Rᵀ)                        dK = β∘n + (p β)ᵀ Q + (t β)ᵀ E
//	m_rs = p_rs q_r·k_s + t_rs e_r·k_s
//	dβ_s = n_s·k_s + Σ_r m_rs
//	dG_r = γ_r (q_r·S dO_r - e_r·S dZ_r) - β_r n_r·k_r + Σ_{s<r} m_rs β_s - β_r Σ_{s>r} m_sr,
//	       and <R, S'> more for r = C
//	dg_r = Σ_{i>=r} dG_i
//
// where p β has its columns scaled. The line for dG says that e^G scales rows of Q
// and E, e^-G rows of K, and the chunk's whole decay S'; pairs r = s have none, and
// would hide what strong decays leave of the others.

import (
	. "github.com/kalmarz/kalmarz/layers/triton"
)

// reverse walks from the last chunk of a segment to the first.
func (d Delta) reverse(seen, part bool) *Kernel {
	if d.Channels {
		return d.reverseChannels(seen, part)
	}
	w := d.walkBack(seen, part)
	k := w.k
	query, keys := d.keys(k, "q"), d.keys(k, "k")
	var inverse *Memory
	if d.Erases {
		inverse = k.In("inverse", d.DType, d.inverseDims()...)
	}
	erase, rate, sums := d.gates(k)
	carry := []*Tile{w.begin()}

	b, h, channel, r := w.b, w.h, w.channel, k.Range(d.C)
	if d.Decays { // a chunk's total is read a turn ahead, beside the buffers: two programs fit by 4 bytes
		carry = append(carry, d.loadSum(sums, b, h, w.end, d.C-1)...)
	}
	carry = k.For(w.per(), d.Plan.Stages, carry, func(turn *Tile, carry []*Tile) []*Tile {
		R, s, total := carry[0], carry[0].To(d.DType), sum(carry[1:])
		c := w.end.Sub(turn)
		t, exist := d.tokens(k, c, 0, d.C)
		Q, K := rows(query, b, t, h, channel, exist), rows(keys, b, t, h, channel, exist)
		dO := rows(w.dOut, b, t, h, w.column, exist)
		w.keep(s, c)

		KQ, KR := d.dot(K, Q.T()), d.dot(K, s) // KQ is Pᵀ before its decay
		γdO := dO
		var γ *Tile
		if d.Decays {
			G := d.loadSum(sums, b, h, c, r)
			γ = G.total().Exp().Col()
			KQ, KR = KQ.Mul(decayT(k, G)), KR.Mul(total.less(G).Exp().Col())
			γdO = dO.To(F32).Mul(γ)
			R = R.Mul(total.total().Exp())
		} else {
			KQ = r.Row().AtLeast(r.Col()).Where(KQ, 0)
		}
		dZ := d.dotAdd(KR, KQ, dO) // dU
		if d.Rated {
			dZ = dZ.Mul(rate.LoadIf(exist, b, t, h).Col())
		}
		dZ = w.seen(dZ, t, exist)
		R = d.dotAdd(R, Q.T(), γdO)
		if d.Erases {
			A, E := inverse.Load(b, h, c, r.Col(), r.Row()), K
			if !d.Shared {
				E = rows(erase, b, t, h, channel, exist)
			}
			dZ = d.dot(A.T(), dZ)
			R = d.dotAdd(R, E.T(), scaled(dZ, γ).Neg())
		}
		w.set(dZ, t, exist)
		carry = []*Tile{R}
		if d.Decays {
			carry = append(carry, d.loadSum(sums, b, h, c.Sub(1).Max(0), d.C-1)...)
		}
		return carry
	})
	w.finish(carry[0])
	return k
}

// local makes the gradients of q, k, e, g and the rates, one program for each chunk
// of a head. It takes channels a slice at a time: two programs then fit a
// multiprocessor (at 64 channels and columns a slice they took 0.95 ms for the 0.70 of
// 32 channels and all columns, at B16 T2048 H16 D128).
func (d Delta) local() *Kernel {
	k := New(d.name("local"), d.Plan.LocalWarps, d.Plan.LocalStages, d.chunks(), d.B*d.H)
	k.Registers = d.Plan.LocalRegisters
	query, keys := d.keys(k, "q"), d.keys(k, "k")
	written, dOut := d.values(k, "y"), d.values(k, "do")
	entry, leaving := k.In("entry", d.DType, d.entryDims()...), k.In("leaving", d.DType, d.entryDims()...)
	var dWrite *Memory
	if d.Erases {
		dWrite = d.values(k, "dz")
	}
	erase, rate, sums := d.gates(k)
	dQuery, dKeys := k.Out("dq", d.DType, d.B, d.T, d.H, d.K), k.Out("dk", d.DType, d.B, d.T, d.H, d.K)
	var dErase, dDecay, dRate *Memory
	if d.Erases && !d.Shared {
		dErase = k.Out("de", d.DType, d.B, d.T, d.H, d.K)
	}
	if d.Decays {
		dDecay = k.Out("dg", F32, d.B, d.T, d.H)
	}
	if d.Rated {
		dRate = k.Out("drate", F32, d.B, d.T, d.H)
	}

	c := k.Program(0)
	b, h := d.head(k, 1)
	r := k.Range(d.C)
	t, exist := d.tokens(k, c, 0, d.C)
	var G, total sum
	var β *Tile
	if d.Decays {
		G, total = d.loadSum(sums, b, h, c, r), d.loadSum(sums, b, h, c, d.C-1)
	}
	if d.Rated {
		β = rate.LoadIf(exist, b, t, h)
	}
	zeros := func(dims ...int) *Tile { return k.Full(F32, 0, dims...) }
	inner := func(x, y *Tile) *Tile { return x.To(F32).Mul(y).Sum(1) }
	read := func(ms ...*Memory) func(at *Tile) []*Tile {
		return func(at *Tile) (xs []*Tile) {
			for _, m := range ms {
				xs = append(xs, rows(m, b, t, h, at, exist))
			}
			return xs
		}
	}
	values, tokens := []*Memory{dOut, written}, []*Memory{query, keys}
	if d.Erases {
		values = append(values, dWrite)
		if !d.Shared {
			tokens = append(tokens, erase)
		}
	}
	wide := min(d.Plan.LocalChannels, d.K)
	columns := d.slices(k, d.V, d.Plan.LocalColumns, read(values...))

	// what tokens of the chunk do to each other
	var QK, EK *Tile
	if d.Rated || d.Decays {
		products := d.slices(k, d.K, d.Plan.LocalColumns, read(tokens...))([]*Tile{zeros(d.C, d.C), zeros(d.C, d.C)}, func(_ *Tile, x, acc []*Tile) []*Tile {
			Q, K, E := x[0], x[1], x[len(tokens)-1]
			QK, EK := d.dotAdd(acc[0], Q, K.T()), acc[1]
			if d.Erases {
				EK = d.dotAdd(EK, E, K.T())
			}
			return []*Tile{QK, EK}
		})
		QK, EK = products[0], products[1]
	}
	pairs := columns([]*Tile{zeros(d.C, d.C), zeros(d.C, d.C)}, func(_ *Tile, x, acc []*Tile) []*Tile {
		P, N := d.dotAdd(acc[0], x[0], x[1].T()), acc[1]
		if d.Erases {
			N = d.dotAdd(N, x[2], x[1].T())
		}
		return []*Tile{P, N}
	})
	P, N := pairs[0], pairs[1] // p and t above
	earlier := r.Col().AtLeast(r.Row().Add(1))
	var γ, w, end, D *Tile
	if d.Decays {
		γ, w, end = G.total().Exp().Col(), total.less(G).Exp().Col(), total.total().Exp()
		D = decay(k, G, G, 0)
	} else {
		D = r.Col().AtLeast(r.Row()).Where(k.Full(F32, 1), 0)
	}
	P, N = P.Mul(D), earlier.Where(N.Mul(D).Neg(), 0)
	dβ, dG := zeros(d.C), zeros(d.C)
	var m *Tile
	if QK != nil {
		m = P.Mul(QK)
		if d.Erases {
			m = m.Add(N.Mul(EK))
		}
	}
	if d.Rated {
		dβ = m.Sum(0)
		m, P, N = m.Mul(β.Row()), P.Mul(β.Row()), N.Mul(β.Row())
	}
	if d.Decays {
		m = earlier.Where(m, 0)
		dG = m.Sum(1).Sub(m.Sum(0))
	}
	P, N = P.To(d.DType), N.To(d.DType)

	// what they have to do with the states on entry and at the end
	acc := d.slices(k, d.K, wide, read(tokens...))([]*Tile{dβ, dG, zeros()}, func(channel *Tile, x, carry []*Tile) []*Tile {
		Q, K, E := x[0], x[1], x[len(tokens)-1] // E, if it is not read, is K
		dβ, dG, RS := carry[0], carry[1], carry[2]
		acc := columns([]*Tile{zeros(d.C, wide), zeros(d.C, wide), zeros(d.C, wide), zeros(wide)}, func(column *Tile, x, acc []*Tile) []*Tile {
			S, R := entry.Load(b, h, c, channel.Col(), column.Row()), leaving.Load(b, h, c, channel.Col(), column.Row())
			dQ, dK, dE, RS := d.dotAdd(acc[0], x[0], S.T()), d.dotAdd(acc[1], x[1], R.T()), acc[2], acc[3]
			if d.Erases {
				dE = d.dotAdd(dE, x[2], S.T())
			}
			if d.Decays {
				RS = RS.Add(inner(S, R.To(F32)))
			}
			return []*Tile{dQ, dK, dE, RS}
		})
		dQ, dK, dE := scaled(acc[0], γ), scaled(acc[1], w), scaled(acc[2], γ).Neg()
		if d.Rated {
			dβ = dβ.Add(inner(K, dK))
			dK = dK.Mul(β.Col())
		}
		if d.Decays {
			KdK := inner(K, dK)
			dG = dG.Add(inner(Q, dQ)).Sub(KdK)
			RS = RS.Add(acc[3].Sum(0).Mul(end)).Add(KdK.Sum(0)) // <R, S'>
		}
		setRows(dQuery, d.dotAdd(dQ, P, K).To(d.DType), b, t, h, channel, exist)
		dK = d.dotAdd(dK, P.T(), Q)
		if d.Erases {
			if d.Decays {
				dG = dG.Add(inner(E, dE))
			}
			dK = d.dotAdd(dK, N.T(), E)
			dE = d.dotAdd(dE, N, K)
			if d.Shared {
				dK = dK.Add(dE)
			} else {
				setRows(dErase, dE.To(d.DType), b, t, h, channel, exist)
			}
		}
		setRows(dKeys, dK.To(d.DType), b, t, h, channel, exist)
		return []*Tile{dβ, dG, RS}
	})
	if d.Rated {
		dRate.StoreIf(exist, acc[0], b, t, h)
	}
	if d.Decays {
		dDecay.StoreIf(exist, acc[1].Add(r.Equal(d.C-1).Where(acc[2], 0)).CumSum(0, true), b, t, h)
	}
	return k
}

// slices returns walks over n channels or columns that hand tiles from slice to
// slice. If one slice has them all they are read here and once, else in each walk.
func (d Delta) slices(k *Kernel, n, slice int, read func(at *Tile) []*Tile) func(carry []*Tile, body func(at *Tile, x, carry []*Tile) []*Tile) []*Tile {
	if slice >= n {
		at := k.Range(n)
		x := read(at)
		return func(carry []*Tile, body func(at *Tile, x, carry []*Tile) []*Tile) []*Tile { return body(at, x, carry) }
	}
	return func(carry []*Tile, body func(at *Tile, x, carry []*Tile) []*Tile) []*Tile {
		return k.For(n/slice, d.Plan.LocalStages, carry, func(turn *Tile, carry []*Tile) []*Tile {
			at := turn.Mul(slice).Add(k.Range(slice))
			return body(at, read(at), carry)
		})
	}
}

// Backward is the gradient of Forward, whose inputs and outputs it reads beside
// do, dlast and, if it is seen, dy, to the gradients of Forward's inputs in their
// order.
func (d Delta) Backward(seen bool) *Function {
	name, in := d.name("delta_backward"), append([]string{"q", "k", "y", "entry", "do", "dlast"}, d.made()...)
	out := []string{"dq", "dk", "dz", "dfirst"}
	if seen {
		name, in = name+"_dy", append(in, "dy")
	}
	if d.Decays {
		out = append(out, "dg")
	}
	if d.Erases && !d.Shared {
		in, out = append(in, "e"), append(out, "de")
	}
	if d.Rated {
		in, out = append(in, "rate"), append(out, "drate")
	}
	var ks []*Kernel
	if d.cut() {
		if d.Erases {
			in = append(in, "maps")
		}
		if d.spanned() {
			in = append(in, "spans")
		}
		ks = []*Kernel{d.reverse(seen, true), d.joinBack()}
	}
	ks = append(ks, d.reverse(seen, false))
	if d.Channels {
		return newFunction(name, append(in, "g"), out, append(ks, d.outer(), d.localChannels())...)
	}
	return newFunction(name, in, out, append(ks, d.local())...)
}
