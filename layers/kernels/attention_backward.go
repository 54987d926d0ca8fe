package kernels

// The gradient of attention.go's o, given do, without a second kernel writing to
// what one writes: the order of sums is always the same. With p_ts = 2^(x_ts - L_t)
// made again:
//
//	D_t = do_t·o_t     g = p∘(do vᵀ - D)
//	dq = scale g k     dk = scale gᵀ q     dv = pᵀ do
//
// One kernel takes blocks of queries and walks over their keys, for dq and, on the
// way, D; the other blocks of keys and walks over the queries that see them, of all
// heads that read one key head.

import (
	. "github.com/kalmarz/kalmarz/layers/triton"
)

// queryGradient makes dq and D.
func (a Attention) queryGradient() *Kernel {
	c := a.Plan.Queries
	k := New(a.name("query_gradient"), c.Warps, c.Stages, a.blocks(c), a.B*a.H)
	k.Registers = c.Registers
	query, keys, values := a.queries(k, "q"), a.keys(k, "k"), a.keys(k, "v")
	output, dOut, logs := a.queries(k, "o"), a.queries(k, "do"), a.numbers(k, "logs")
	dQuery := k.Out("dq", a.DType, a.B, a.T, a.H, a.K)
	inner := k.Out("inner", F32, a.B, a.H, a.T)

	b, h := a.head(k, a.H)
	j, channel := h.Div(a.H/a.J), k.Range(a.K)
	first := a.longest(k, c)
	t, exist := a.tokens(k, first, c.Rows)
	Q, dO := rows(query, b, t, h, channel, exist), rows(dOut, b, t, h, channel, exist)
	D := dO.To(F32).Mul(rows(output, b, t, h, channel, exist).To(F32)).Sum(1)
	inner.StoreIf(exist, D, b, h, t)
	L := logs.LoadIf(exist, b, h, t)
	dQ := a.overKeys(k, c, first, []*Tile{k.Full(F32, 0, c.Rows, a.K)}, func(first *Tile, crossed bool, carry []*Tile) []*Tile {
		s, exist := a.block(k, first, c.Turn, crossed)
		K, V := rows(keys, b, s, j, channel, exist), rows(values, b, s, j, channel, exist)
		p := a.dot(nil, Q, K.T()).Mul(a.c()).Sub(L.Col()).Exp2()
		if crossed {
			p = a.seen(t.Col(), s.Row()).Where(p, 0)
		}
		g := p.Mul(a.dot(nil, dO, V.T()).Sub(D.Col()))
		return []*Tile{a.dot(carry[0], g, K)}
	})[0]
	setRows(dQuery, dQ.Mul(a.Scale).To(a.DType), b, t, h, channel, exist)
	return k
}

// keyGradient makes dk and dv. Products are of rows s and columns t, so that none of
// them has to be turned.
func (a Attention) keyGradient() *Kernel {
	c := a.Plan.Keys
	k := New(a.name("key_gradient"), c.Warps, c.Stages, a.blocks(c), a.B*a.J)
	k.Registers = c.Registers
	query, keys, values := a.queries(k, "q"), a.keys(k, "k"), a.keys(k, "v")
	dOut, logs, inner := a.queries(k, "do"), a.numbers(k, "logs"), a.numbers(k, "inner")
	dKey, dValue := k.Out("dk", a.DType, a.B, a.T, a.J, a.K), k.Out("dv", a.DType, a.B, a.T, a.J, a.K)

	b, j := a.head(k, a.J)
	channel := k.Range(a.K)
	first := k.Program(0).Mul(c.Rows)
	s, exist := a.tokens(k, first, c.Rows)
	K, V := rows(keys, b, s, j, channel, exist), rows(values, b, s, j, channel, exist)
	head := func(h *Tile, carry []*Tile) []*Tile {
		return a.overQueries(k, c, first, carry, func(first *Tile, crossed bool, carry []*Tile) []*Tile {
			t, exist := a.tokens(k, first, c.Turn) // the others are 0, and so is what they give
			Q, dO := rows(query, b, t, h, channel, exist), rows(dOut, b, t, h, channel, exist)
			L, D := logs.LoadIf(exist, b, h, t), inner.LoadIf(exist, b, h, t)
			p := a.dot(nil, K, Q.T()).Mul(a.c()).Sub(L.Row()).Exp2()
			if crossed {
				p = a.seen(t.Row(), s.Col()).Where(p, 0)
			}
			g := p.Mul(a.dot(nil, V, dO.T()).Sub(D.Row()))
			return []*Tile{a.dot(carry[0], g, Q), a.dot(carry[1], p, dO)}
		})
	}
	carry := []*Tile{k.Full(F32, 0, c.Rows, a.K), k.Full(F32, 0, c.Rows, a.K)}
	if n := a.H / a.J; n == 1 {
		carry = head(j, carry)
	} else {
		carry = k.For(n, 1, carry, func(i *Tile, carry []*Tile) []*Tile { return head(j.Mul(n).Add(i), carry) })
	}
	setRows(dKey, carry[0].Mul(a.Scale).To(a.DType), b, s, j, channel, exist)
	setRows(dValue, carry[1].To(a.DType), b, s, j, channel, exist)
	return k
}

// Backward is the gradient of Forward, of which it reads inputs and outputs beside
// do, to dq, dk and dv.
func (a Attention) Backward() *Function {
	return newFunction(a.name("backward"), []string{"q", "k", "v", "o", "do", "logs"}, []string{"dq", "dk", "dv"}, a.queryGradient(), a.keyGradient())
}
