package kernels

// The gradient of delta.go's chunks. With dO, du the gradients of o and u from
// outside, R that of the state that leaves the chunk and w = exp(G_C - G):
//
//	dV = Pᵀ dO + w∘(K R) + du     dZ = Aᵀ dV
//	R <- γ_C R + Qᵀ (γ∘dO) - Eᵀ (γ∘dZ)
//
// One program for a head and some columns of v walks through the chunks from the
// last; it keeps R and dZ. All else is local to a chunk, with S the state on
// entry and D_rs = exp(G_r - G_s):
//
//	p = tril(dO uᵀ)∘D     dQ = γ∘(dO Sᵀ) + p K
//	t = -tril(dZ uᵀ, -1)∘D     dE = -γ∘(dZ Sᵀ) + t K
//	dK = w∘(u Rᵀ) + pᵀ Q + tᵀ E
//	dG_r = q_r·dq_r + e_r·de_r - k_r·dk_r, and <R, S'> more for r = C
//	dg_r = Σ_{i>=r} dG_i
//
// The line for dG says that e^G scales rows of Q and E, e^-G rows of K, and the
// chunk's whole decay S'.

import (
	. "github.com/kalmarz/kalmarz/layers/triton"
)

// reverse walks from the last chunk to the first.
func (d Delta) reverse() *Kernel {
	k := New(d.name("reverse"), d.Plan.Warps, d.Plan.Stages, d.V/d.columns(), d.B*d.H)
	query, keys := d.keys(k, "q"), d.keys(k, "k")
	dOut, dWritten := d.values(k, "do"), d.values(k, "du")
	dLast := k.In("dlast", F32, d.stateDims()...)
	var erase, inverse, sums *Memory
	if d.Erases {
		erase, inverse = d.keys(k, "e"), k.In("inverse", d.DType, d.inverseDims()...)
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
		dO, du := rows(dOut, b, t, h, column, exist), rows(dWritten, b, t, h, column, exist)
		leaving.Store(s, b, h, c, channel.Col(), column.Row())

		KQ, KR := d.dot(K, Q.T()), d.dot(K, s) // KQ is Pᵀ before its decay
		γdO := dO
		var G, total, γ *Tile
		if d.Decays {
			G, total = sums.Load(b, h, c, r), sums.Load(b, h, c, d.C-1)
			γ = G.Exp().Col()
			KQ, KR = KQ.Mul(decay(k, G, G, 0).T()), KR.Mul(total.Sub(G).Exp().Col())
			γdO = dO.To(F32).Mul(γ)
			R = R.Mul(total.Exp())
		} else {
			KQ = r.Row().AtLeast(r.Col()).Where(KQ, 0)
		}
		dZ := d.dotAdd(KR.Add(du.To(F32)), KQ, dO)
		R = d.dotAdd(R, Q.T(), γdO)
		if d.Erases {
			A := inverse.Load(b, h, c, r.Col(), r.Row())
			E := rows(erase, b, t, h, channel, exist)
			dZ = d.dot(A.T(), dZ)
			R = d.dotAdd(R, E.T(), scaled(dZ, γ).Neg())
		}
		setRows(dWrite, dZ.To(d.DType), b, t, h, column, exist)
		return []*Tile{R}
	})[0]
	dFirst.Store(R, b, h, channel.Col(), column.Row())
	return k
}

// local makes the gradients of q, k, e and g, one program for each chunk of a head.
func (d Delta) local() *Kernel {
	k := New(d.name("local"), d.Plan.LocalWarps, d.Plan.Stages, d.chunks(), d.B*d.H)
	query, keys := d.keys(k, "q"), d.keys(k, "k")
	written, dOut := d.values(k, "u"), d.values(k, "do")
	entry, leaving := k.In("entry", d.DType, d.entryDims()...), k.In("leaving", d.DType, d.entryDims()...)
	var erase, dWrite, sums *Memory
	if d.Erases {
		erase, dWrite = d.keys(k, "e"), d.values(k, "dz")
	}
	if d.Decays {
		sums = k.In("sums", F32, d.sumsDims()...)
	}
	dQuery, dKeys := k.Out("dq", d.DType, d.B, d.T, d.H, d.K), k.Out("dk", d.DType, d.B, d.T, d.H, d.K)
	var dErase, dDecay *Memory
	if d.Erases {
		dErase = k.Out("de", d.DType, d.B, d.T, d.H, d.K)
	}
	if d.Decays {
		dDecay = k.Out("dg", F32, d.B, d.T, d.H)
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
		u, dO := rows(written, b, t, h, column, exist), rows(dOut, b, t, h, column, exist)
		next := []*Tile{
			d.dotAdd(acc[0], dO, S.T()), d.dotAdd(acc[1], u, R.T()), d.dotAdd(acc[2], dO, u.T()),
			acc[3].Add(S.To(F32).Mul(R.To(F32)).Sum(1).Sum(0)),
		}
		if d.Erases {
			dZ := rows(dWrite, b, t, h, column, exist)
			next = append(next, d.dotAdd(acc[4], dZ, S.T()), d.dotAdd(acc[5], dZ, u.T()))
		}
		return next
	})
	dQ, dK, p, RS := acc[0], acc[1], acc[2], acc[3]

	Q, K := rows(query, b, t, h, channel, exist), rows(keys, b, t, h, channel, exist)
	var γ, w, total, D *Tile
	if d.Decays {
		G := sums.Load(b, h, c, r)
		total = sums.Load(b, h, c, d.C-1)
		γ, w = G.Exp().Col(), total.Sub(G).Exp().Col()
		D = decay(k, G, G, 0)
	} else {
		D = r.Col().AtLeast(r.Row()).Where(k.Full(F32, 1), 0)
	}
	p = p.Mul(D)
	dQ = d.dotAdd(scaled(dQ, γ), p, K)
	dK = scaled(dK, w)
	dS := dK // its product with K is that of R and what the chunk adds to S'
	dK = d.dotAdd(dK, p.T(), Q)
	setRows(dQuery, dQ.To(d.DType), b, t, h, channel, exist)
	var dE, E *Tile
	if d.Erases {
		E = rows(erase, b, t, h, channel, exist)
		q := r.Col().AtLeast(r.Row().Add(1)).Where(acc[5].Mul(D).Neg(), 0)
		dE = d.dotAdd(scaled(acc[4], γ).Neg(), q, K)
		dK = d.dotAdd(dK, q.T(), E)
		setRows(dErase, dE.To(d.DType), b, t, h, channel, exist)
	}
	setRows(dKeys, dK.To(d.DType), b, t, h, channel, exist)
	if d.Decays {
		Q, K := Q.To(F32), K.To(F32)
		x := Q.Mul(dQ).Sub(K.Mul(dK))
		if d.Erases {
			x = x.Add(E.To(F32).Mul(dE))
		}
		leaves := RS.Mul(total.Exp()).Add(K.Mul(dS).Sum(1).Sum(0))
		dG := x.Sum(1).Add(r.Equal(d.C-1).Where(leaves, 0))
		dDecay.StoreIf(exist, dG.CumSum(0, true), b, t, h)
	}
	return k
}

// Backward is the gradient of Forward, whose inputs and outputs it reads beside
// do, dlast and du, to the gradients of Forward's inputs in their order.
func (d Delta) Backward() *Function {
	in := []string{"q", "k", "u", "entry", "do", "dlast", "du"}
	out := []string{"dq", "dk", "dz", "dfirst"}
	if d.Decays {
		in, out = append(in, "sums"), append(out, "dg")
	}
	if d.Erases {
		in, out = append(in, "e", "inverse"), append(out, "de")
	}
	return newFunction(d.name("delta_backward"), in, out, d.reverse(), d.local())
}
