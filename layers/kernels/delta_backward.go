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
//	dβ_s = n_s·k_s + Σ_r p_rs q_r·k_s + t_rs e_r·k_s
//	dG_r = q_r·dq_r + e_r·de_r - k_r·dk_r, and <R, S'> more for r = C
//	dg_r = Σ_{i>=r} dG_i
//
// where p β has its columns scaled. The line for dG says that e^G scales rows of Q
// and E, e^-G rows of K, and the chunk's whole decay S'.

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
	var dWritten, erase, inverse, rate, sums *Memory
	if seen {
		dWritten = d.values(k, "dy")
	}
	if d.Erases {
		inverse = k.In("inverse", d.DType, d.inverseDims()...)
		if !d.Shared {
			erase = d.keys(k, "e")
		}
	}
	if d.Rated {
		rate = d.numbers(k, "rate")
	}
	if d.Decays {
		sums = k.In("sums", F32, d.sumsDims()...)
	}
	dWrite := k.Out("dz", d.DType, d.B, d.T, d.H, d.V)
	dFirst := k.Out("dfirst", F32, d.stateDims()...)
	leaving := k.Out("leaving", d.DType, d.entryDims()...)

	b, h := d.head(k, 1)
	r, channel := k.Range(d.C), k.Range(d.K)
	column := k.Program(0).Mul(d.columns()).Add(k.Range(d.columns()))
	R := dLast.Load(b, h, channel.Col(), column.Row())
	R = k.For(d.chunks(), d.Plan.Stages, []*Tile{R}, func(turn *Tile, carry []*Tile) []*Tile {
		R, s := carry[0], carry[0].To(d.DType)
		c := k.Full(I32, float64(d.chunks()-1)).Sub(turn)
		t, exist := d.tokens(k, c, 0, d.C)
		Q, K := rows(query, b, t, h, channel, exist), rows(keys, b, t, h, channel, exist)
		dO := rows(dOut, b, t, h, column, exist)
		leaving.Store(s, b, h, c, channel.Col(), column.Row())

		KQ, KR := d.dot(K, Q.T()), d.dot(K, s) // KQ is Pᵀ before its decay
		γdO := dO
		var γ *Tile
		if d.Decays {
			G, total := d.loadSum(sums, b, h, c, r), d.loadSum(sums, b, h, c, d.C-1)
			γ = G.total().Exp().Col()
			KQ, KR = KQ.Mul(decay(k, G, G, 0).T()), KR.Mul(total.less(G).Exp().Col())
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
		return []*Tile{R}
	})[0]
	dFirst.Store(R, b, h, channel.Col(), column.Row())
	return k
}

// local makes the gradients of q, k, e, g and the rates, one program for each chunk of a head.
func (d Delta) local() *Kernel {
	k := New(d.name("local"), d.Plan.LocalWarps, d.Plan.Stages, d.chunks(), d.B*d.H)
	query, keys := d.keys(k, "q"), d.keys(k, "k")
	written, dOut := d.values(k, "y"), d.values(k, "do")
	entry, leaving := k.In("entry", d.DType, d.entryDims()...), k.In("leaving", d.DType, d.entryDims()...)
	var erase, dWrite, rate, sums *Memory
	if d.Erases {
		dWrite = d.values(k, "dz")
		if !d.Shared {
			erase = d.keys(k, "e")
		}
	}
	if d.Rated {
		rate = d.numbers(k, "rate")
	}
	if d.Decays {
		sums = k.In("sums", F32, d.sumsDims()...)
	}
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

	// sums over the columns of v
	wide, square, one := k.Full(F32, 0, d.C, d.K), k.Full(F32, 0, d.C, d.C), k.Full(F32, 0)
	acc := []*Tile{wide, wide, square, one}
	if d.Erases {
		acc = append(acc, wide, square)
	}
	acc = k.For(d.V/d.columns(), d.Plan.Stages, acc, func(turn *Tile, acc []*Tile) []*Tile {
		column := turn.Mul(d.columns()).Add(k.Range(d.columns()))
		S, R := entry.Load(b, h, c, channel.Col(), column.Row()), leaving.Load(b, h, c, channel.Col(), column.Row())
		y, dO := rows(written, b, t, h, column, exist), rows(dOut, b, t, h, column, exist)
		next := []*Tile{
			d.dotAdd(acc[0], dO, S.T()), d.dotAdd(acc[1], y, R.T()), d.dotAdd(acc[2], dO, y.T()),
			acc[3].Add(S.To(F32).Mul(R.To(F32)).Sum(1).Sum(0)),
		}
		if d.Erases {
			dZ := rows(dWrite, b, t, h, column, exist)
			next = append(next, d.dotAdd(acc[4], dZ, S.T()), d.dotAdd(acc[5], dZ, y.T()))
		}
		return next
	})
	dQ, n, p, RS := acc[0], acc[1], acc[2], acc[3]

	Q, K := rows(query, b, t, h, channel, exist), rows(keys, b, t, h, channel, exist)
	var total sum
	var γ, w, D, β *Tile
	if d.Decays {
		G := d.loadSum(sums, b, h, c, r)
		total = d.loadSum(sums, b, h, c, d.C-1)
		γ, w = G.total().Exp().Col(), total.less(G).Exp().Col()
		D = decay(k, G, G, 0)
	} else {
		D = r.Col().AtLeast(r.Row()).Where(k.Full(F32, 1), 0)
	}
	if d.Rated {
		β = rate.LoadIf(exist, b, t, h)
	}
	across := func(x *Tile) *Tile { // scales columns by β
		if β == nil {
			return x
		}
		return x.Mul(β.Row())
	}
	p, n = p.Mul(D), scaled(n, w)
	var dβ *Tile
	dK := n
	if d.Rated {
		dβ = p.Mul(d.dot(Q, K.T())).Sum(0).Add(n.Mul(K.To(F32)).Sum(1))
		dK = n.Mul(β.Col())
	}
	leaves := dK // its product with K is that of R and what the chunk adds to S'
	p = across(p)
	dQ = d.dotAdd(scaled(dQ, γ), p, K)
	dK = d.dotAdd(dK, p.T(), Q)
	setRows(dQuery, dQ.To(d.DType), b, t, h, channel, exist)
	var dE, E *Tile
	if d.Erases {
		E = K
		if !d.Shared {
			E = rows(erase, b, t, h, channel, exist)
		}
		q := r.Col().AtLeast(r.Row().Add(1)).Where(acc[5].Mul(D).Neg(), 0)
		if d.Rated {
			dβ = dβ.Add(q.Mul(d.dot(E, K.T())).Sum(0))
		}
		q = across(q)
		dE = d.dotAdd(scaled(acc[4], γ).Neg(), q, K)
		dK = d.dotAdd(dK, q.T(), E)
	}
	if d.Decays {
		x := Q.To(F32).Mul(dQ).Sub(K.To(F32).Mul(dK))
		if d.Erases {
			x = x.Add(E.To(F32).Mul(dE))
		}
		RS := RS.Mul(total.total().Exp()).Add(K.To(F32).Mul(leaves).Sum(1).Sum(0))
		dG := x.Sum(1).Add(r.Equal(d.C-1).Where(RS, 0))
		dDecay.StoreIf(exist, dG.CumSum(0, true), b, t, h)
	}
	if d.Rated {
		dRate.StoreIf(exist, dβ, b, t, h)
	}
	if d.Erases && d.Shared {
		dK = dK.Add(dE)
	} else if d.Erases {
		setRows(dErase, dE.To(d.DType), b, t, h, channel, exist)
	}
	setRows(dKeys, dK.To(d.DType), b, t, h, channel, exist)
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
