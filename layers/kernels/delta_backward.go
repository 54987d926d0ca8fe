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

// reverse walks from the last chunk to the first; seen says that y has a gradient
// from outside.
func (d Delta) reverse(seen bool) *Kernel {
	k := New(d.name("reverse"), d.Plan.Warps, d.Plan.Stages, d.V/d.columns(), d.B*d.H)
	query, keys := d.keys(k, "q"), d.keys(k, "k")
	dOut := d.values(k, "do")
	dLast := k.In("dlast", F32, d.stateDims()...)
	var dWritten, inverse *Memory
	if seen {
		dWritten = d.values(k, "dy")
	}
	if d.Erases {
		inverse = k.In("inverse", d.DType, d.inverseDims()...)
	}
	erase, rate, sums := d.gates(k)
	dWrite := k.Out("dz", d.DType, d.B, d.T, d.H, d.V)
	dFirst := k.Out("dfirst", F32, d.stateDims()...)
	leaving := k.Out("leaving", d.DType, d.entryDims()...)

	b, h := d.head(k, 1)
	r, channel := k.Range(d.C), k.Range(d.K)
	column := k.Program(0).Mul(d.columns()).Add(k.Range(d.columns()))
	end := k.Full(I32, float64(d.chunks()-1))
	carry := []*Tile{dLast.Load(b, h, channel.Col(), column.Row())}
	if d.Decays { // a chunk's total is read a turn ahead, beside the buffers: two programs fit by 4 bytes
		carry = append(carry, d.loadSum(sums, b, h, end, d.C-1)...)
	}
	carry = k.For(d.chunks(), d.Plan.Stages, carry, func(turn *Tile, carry []*Tile) []*Tile {
		R, s, total := carry[0], carry[0].To(d.DType), sum(carry[1:])
		c := end.Sub(turn)
		t, exist := d.tokens(k, c, 0, d.C)
		Q, K := rows(query, b, t, h, channel, exist), rows(keys, b, t, h, channel, exist)
		dO := rows(dOut, b, t, h, column, exist)
		leaving.Store(s, b, h, c, channel.Col(), column.Row())

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
		dU := d.dotAdd(KR, KQ, dO)
		if d.Rated {
			dU = dU.Mul(rate.LoadIf(exist, b, t, h).Col())
		}
		dZ := dU
		if seen {
			dZ = dU.Add(rows(dWritten, b, t, h, column, exist).To(F32))
		}
		R = d.dotAdd(R, Q.T(), γdO)
		if d.Erases {
			A, E := inverse.Load(b, h, c, r.Col(), r.Row()), K
			if !d.Shared {
				E = rows(erase, b, t, h, channel, exist)
			}
			dZ = d.dot(A.T(), dZ)
			R = d.dotAdd(R, E.T(), scaled(dZ, γ).Neg())
		}
		setRows(dWrite, dZ.To(d.DType), b, t, h, column, exist)
		next := []*Tile{R}
		if d.Decays {
			next = append(next, d.loadSum(sums, b, h, c.Sub(1).Max(0), d.C-1)...)
		}
		return next
	})
	dFirst.Store(carry[0], b, h, channel.Col(), column.Row())
	return k
}

// local makes the gradients of q, k, e, g and the rates, one program for each chunk of a head.
func (d Delta) local() *Kernel {
	k := New(d.name("local"), d.Plan.LocalWarps, d.Plan.Stages, d.chunks(), d.B*d.H)
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
	r, channel := k.Range(d.C), k.Range(d.K)
	t, exist := d.tokens(k, c, 0, d.C)

	// over adds up products over the columns of v, from zeros of the given sizes.
	over := func(dims [][]int, body func(column *Tile, acc []*Tile) []*Tile) []*Tile {
		var zeros []*Tile
		for _, n := range dims {
			zeros = append(zeros, k.Full(F32, 0, n...))
		}
		return k.For(d.V/d.columns(), d.Plan.Stages, zeros, func(turn *Tile, acc []*Tile) []*Tile {
			return body(turn.Mul(d.columns()).Add(k.Range(d.columns())), acc)
		})
	}
	square, wide := []int{d.C, d.C}, []int{d.C, d.K}
	state := func(m *Memory, column *Tile) *Tile { return m.Load(b, h, c, channel.Col(), column.Row()) }
	row := func(m *Memory, column *Tile) *Tile { return rows(m, b, t, h, column, exist) }

	// what tokens of the chunk do to each other
	pairs := [][]int{square}
	if d.Erases {
		pairs = append(pairs, square)
	}
	acc := over(pairs, func(column *Tile, acc []*Tile) []*Tile {
		y := row(written, column).T()
		next := []*Tile{d.dotAdd(acc[0], row(dOut, column), y)}
		if d.Erases {
			next = append(next, d.dotAdd(acc[1], row(dWrite, column), y))
		}
		return next
	})
	Q, K := rows(query, b, t, h, channel, exist), rows(keys, b, t, h, channel, exist)
	E := K
	if d.Erases && !d.Shared {
		E = rows(erase, b, t, h, channel, exist)
	}
	var total sum
	var γ, w, D, β, dβ *Tile
	if d.Decays {
		G := d.loadSum(sums, b, h, c, r)
		total = d.loadSum(sums, b, h, c, d.C-1)
		γ, w = G.total().Exp().Col(), total.less(G).Exp().Col()
		D = decay(k, G, G, 0)
	} else {
		D = r.Col().AtLeast(r.Row()).Where(k.Full(F32, 1), 0)
	}
	P := acc[0].Mul(D)
	var N *Tile // t above
	if d.Erases {
		N = r.Col().AtLeast(r.Row().Add(1)).Where(acc[1].Mul(D).Neg(), 0)
	}
	var dG *Tile
	if d.Rated || d.Decays {
		m := P.Mul(d.dot(Q, K.T()))
		if d.Erases {
			m = m.Add(N.Mul(d.dot(E, K.T())))
		}
		if d.Rated {
			β = rate.LoadIf(exist, b, t, h)
			dβ = m.Sum(0)
			P = P.Mul(β.Row())
			if d.Erases {
				N = N.Mul(β.Row())
			}
		}
		if d.Decays {
			if d.Rated {
				m = m.Mul(β.Row())
			}
			m = r.Col().AtLeast(r.Row().Add(1)).Where(m, 0)
			dG = m.Sum(1).Sub(m.Sum(0))
		}
	}
	P = P.To(d.DType)
	inner := func(x, y *Tile) *Tile { return x.To(F32).Mul(y).Sum(1) }

	dQ := scaled(over([][]int{wide}, func(column *Tile, acc []*Tile) []*Tile {
		return []*Tile{d.dotAdd(acc[0], row(dOut, column), state(entry, column).T())}
	})[0], γ)
	if d.Decays {
		dG = dG.Add(inner(Q, dQ))
	}
	dQ = d.dotAdd(dQ, P, K)
	setRows(dQuery, dQ.To(d.DType), b, t, h, channel, exist)

	acc = over([][]int{wide, {}}, func(column *Tile, acc []*Tile) []*Tile {
		R := state(leaving, column)
		next := []*Tile{d.dotAdd(acc[0], row(written, column), R.T()), acc[1]}
		if d.Decays {
			next[1] = acc[1].Add(state(entry, column).To(F32).Mul(R.To(F32)).Sum(1).Sum(0))
		}
		return next
	})
	dK := scaled(acc[0], w)
	if d.Rated {
		dβ = dβ.Add(inner(K, dK))
		dK = dK.Mul(β.Col())
		dRate.StoreIf(exist, dβ, b, t, h)
	}
	if d.Decays {
		KdK := inner(K, dK)
		RS := acc[1].Mul(total.total().Exp()).Add(KdK.Sum(0)) // <R, S'>
		dG = dG.Sub(KdK).Add(r.Equal(d.C-1).Where(RS, 0))
	}
	dK = d.dotAdd(dK, P.T(), Q)
	if d.Erases {
		N = N.To(d.DType)
		dK = d.dotAdd(dK, N.T(), E)
		dE := scaled(over([][]int{wide}, func(column *Tile, acc []*Tile) []*Tile {
			return []*Tile{d.dotAdd(acc[0], row(dWrite, column), state(entry, column).T())}
		})[0], γ).Neg()
		if d.Decays {
			dG = dG.Add(inner(E, dE))
		}
		if d.Shared {
			dK = d.dotAdd(dK.Add(dE), N, K)
		} else {
			setRows(dErase, d.dotAdd(dE, N, K).To(d.DType), b, t, h, channel, exist)
		}
	}
	setRows(dKeys, dK.To(d.DType), b, t, h, channel, exist)
	if d.Decays {
		dDecay.StoreIf(exist, dG.CumSum(0, true), b, t, h)
	}
	return k
}

// Backward is the gradient of Forward, whose inputs and outputs it reads beside
// do, dlast and, if it is seen, dy, to the gradients of Forward's inputs in their
// order.
func (d Delta) Backward(seen bool) *Function {
	name, in := d.name("delta_backward"), []string{"q", "k", "y", "entry", "do", "dlast"}
	out := []string{"dq", "dk", "dz", "dfirst"}
	if seen {
		name, in = name+"_dy", append(in, "dy")
	}
	if d.Decays {
		in, out = append(in, "sums"), append(out, "dg")
	}
	if d.Erases {
		in = append(in, "inverse")
		if !d.Shared {
			in, out = append(in, "e"), append(out, "de")
		}
	}
	if d.Rated {
		in, out = append(in, "rate"), append(out, "drate")
	}
	return newFunction(name, in, out, d.reverse(seen), d.local())
}
