package kernels

import (
	"math"

	. "github.com/kalmarz/kalmarz/layers/triton"
)

// lowest stands for the largest of no numbers; it is finite, so that a block in
// which a query sees nothing leaves its sums as they are.
const lowest = -1e30

// forward makes o; with saves it keeps L, which the gradient reads.
func (a Attention) forward(saves bool) *Kernel {
	c := a.Plan.Forward
	k := New(a.name("forward"), c.Warps, c.Stages, a.blocks(c), a.B*a.H)
	k.Registers = c.Registers
	query, keys, values := a.queries(k, "q"), a.keys(k, "k"), a.keys(k, "v")
	output := k.Out("o", a.DType, a.B, a.T, a.H, a.K)
	var logs *Memory
	if saves {
		logs = k.Out("logs", F32, a.B, a.H, a.T)
	}

	b, h := a.head(k, a.H)
	j, channel := h.Div(a.H/a.J), k.Range(a.K)
	first := a.longest(k, c)
	t, exist := a.tokens(k, first, c.Rows)
	Q := rows(query, b, t, h, channel, exist)
	carry := []*Tile{k.Full(F32, lowest, c.Rows), k.Full(F32, 0, c.Rows), k.Full(F32, 0, c.Rows, a.K)}
	carry = a.overKeys(k, c, first, carry, func(first *Tile, crossed bool, carry []*Tile) []*Tile {
		m, l, acc := carry[0], carry[1], carry[2]
		s, exist := a.block(k, first, c.Turn, crossed)
		K, V := rows(keys, b, s, j, channel, exist), rows(values, b, s, j, channel, exist)
		x := a.dot(nil, Q, K.T())
		if crossed {
			x = a.seen(t.Col(), s.Row()).Where(x, math.Inf(-1))
		}
		top := m.Max(x.Largest(1).Mul(a.c()))
		p := x.Mul(a.c()).Sub(top.Col()).Exp2()
		shrink := m.Sub(top).Exp2()
		return []*Tile{top, l.Mul(shrink).Add(p.Sum(1)), a.dot(acc.Mul(shrink.Col()), p, V)}
	})
	m, l, acc := carry[0], carry[1], carry[2]
	setRows(output, acc.Mul(l.Reciprocal().Col()).To(a.DType), b, t, h, channel, exist)
	if saves {
		logs.StoreIf(exist, m.Add(l.Log2()), b, h, t)
	}
	return k
}

// longest is the first query of a program: those with the most keys begin first, so
// that short ones fill the end.
func (a Attention) longest(k *Kernel, c Cut) *Tile {
	return k.Full(I32, float64(a.blocks(c)-1)).Sub(k.Program(0)).Mul(c.Rows)
}

// block is a block of n keys: where none of its pairs is crossed, all of them
// come before the queries, and exist.
func (a Attention) block(k *Kernel, first *Tile, n int, crossed bool) (s, exist *Tile) {
	if s, exist = a.tokens(k, first, n); !crossed {
		exist = nil
	}
	return s, exist
}

// Forward is the whole forward pass, from q, k and v to o and L.
func (a Attention) Forward() *Function {
	f := newFunction(a.name("forward"), []string{"q", "k", "v"}, []string{"o", "logs"}, a.forward(true))
	f.reader, f.lean = a.name("backward"), []*Kernel{a.forward(false)}
	return f
}
