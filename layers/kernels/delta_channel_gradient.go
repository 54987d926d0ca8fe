package kernels

// The gradient of delta_channel.go's chunks. With dO, dY the gradients of o and y
// from outside, R that of the state that leaves the chunk, what walks back is
//
//	dU = Pᵀ dO + (w∘K) R     dZ = Aᵀ (β∘dU + dY)
//	R <- γ_C∘R + (γ∘Q)ᵀ dO - (γ∘E)ᵀ dZ
//
// and all else is local to a chunk: with p_rs = dO_r·y_s and t_rs = -dZ_r·y_s, of which
// p_x and t_x are the pairs that meet at a border, and x the decays to it,
//
//	dQ = γ∘(dO Sᵀ) + Σ x∘(p_x (β∘x∘K)) + p_rr β_r k_r
//	dE = -γ∘(dZ Sᵀ) + Σ x∘(t_x (β∘x∘K))
//	dK = β∘n,  n = w∘(y Rᵀ) + Σ x∘(p_xᵀ (x∘Q) + t_xᵀ (x∘E)) + p_rr q_r     dβ_s = n_s·k_s
//
// A log-decay is in the exponents of the decays to borders, whose gradients are the
// terms above times their vectors, q∘dQ + e∘dE + k∘dK of one border, the chunk's start
// and end among them; and in γ_C, <R, γ_C∘S>. The transposes of the sums that made the
// exponents make dg of them. As there, nothing is the difference of longer sums;
// tokens with themselves have no decay.

import (
	"slices"

	. "github.com/kalmarz/kalmarz/layers/triton"
)

// pairNames are p and t above, the gradients of the products of tokens.
var pairNames = []string{"p", "t"}

// outer makes p and t. They are read again for each border, for which registers would
// be too few.
func (d Delta) outer() *Kernel {
	k := New(d.name("outer"), d.C/block, 1, d.chunks(), d.B*d.H)
	written, asked := d.values(k, "y"), []*Memory{d.values(k, "do")}
	if d.Erases {
		asked = append(asked, d.values(k, "dz"))
	}
	c := k.Program(0)
	b, h := d.head(k, 1)
	r, column := k.Range(d.C), k.Range(d.V)
	t, exist := d.tokens(k, c, 0, d.C)
	y := rows(written, b, t, h, column, exist).T()
	for i, m := range asked {
		x := d.dot(rows(m, b, t, h, column, exist), y)
		if i > 0 {
			x = x.Neg()
		}
		k.Out(pairNames[i], d.DType, d.inverseDims()...).Store(x.To(d.DType), b, h, c, r.Col(), r.Row())
	}
	return k
}

// localChannels makes the gradients of q, k, e, g and the rates, one program for
// each chunk of a head.
func (d Delta) localChannels() *Kernel {
	k := New(d.name("local"), d.C/block, 1, d.chunks(), d.B*d.H)
	k.Registers = d.Plan.LocalRegisters
	// what reads the state: queries and, if there are, erase vectors
	vectors, asked := []*Memory{d.keys(k, "q")}, []*Memory{d.values(k, "do")}
	if d.Erases {
		asked = append(asked, d.values(k, "dz"))
	}
	if d.Erases && !d.Shared {
		vectors = append(vectors, d.keys(k, "e"))
	}
	keys, written, decays := d.keys(k, "k"), d.values(k, "y"), d.logDecays(k)
	steps := k.In("steps", BF16, d.stepsDims()...)
	var pairs []*Memory
	for i := range asked {
		pairs = append(pairs, k.In(pairNames[i], d.DType, d.inverseDims()...))
	}
	entry, leaving := k.In("entry", d.DType, d.entryDims()...), k.In("leaving", d.DType, d.entryDims()...)
	var rate, dRate *Memory
	if d.Rated {
		rate = d.numbers(k, "rate")
		dRate = k.Out("drate", F32, d.B, d.T, d.H)
	}
	var dVectors []*Memory
	for i := range vectors {
		dVectors = append(dVectors, k.Out([]string{"dq", "de"}[i], d.DType, d.B, d.T, d.H, d.K))
	}
	dKeys, dDecay := k.Out("dk", d.DType, d.B, d.T, d.H, d.K), k.Out("dg", F32, d.B, d.T, d.H, d.K)

	c := k.Program(0)
	b, h := d.head(k, 1)
	t, exist := d.tokens(k, c, 0, d.C)
	row := func(m *Memory, column *Tile) *Tile { return rows(m, b, t, h, column, exist) }
	state := func(m *Memory, channel, column *Tile) *Tile { return m.Load(b, h, c, channel.Col(), column.Row()) }
	columns := d.slices(k, d.V, d.Plan.LocalColumns, func(column *Tile) (x []*Tile) {
		for _, m := range append([]*Memory{written}, asked...) {
			x = append(x, row(m, column))
		}
		return x
	})
	r, kinds := k.Range(d.C), len(asked)
	self := pairs[0].Load(b, h, c, r, r).To(F32).Col()
	var β *Tile
	carry := []*Tile{}
	if d.Rated {
		β = rate.LoadIf(exist, b, t, h)
		carry = append(carry, k.Full(F32, 0, d.C))
	}

	wide := min(d.Plan.LocalChannels, d.K)
	carry = k.For(d.K/wide, 1, carry, func(turn *Tile, carry []*Tile) []*Tile {
		channel := turn.Mul(wide).Add(k.Range(wide))
		decay := d.channelDecays(k, steps, row(decays, channel))
		K := row(keys, channel).To(F32)
		var βCol *Tile
		if d.Rated {
			βCol = β.Col()
		}
		βK := scaled(K, βCol)
		x := make([]*Tile, kinds) // queries, erase vectors
		for i := range x {
			x[i] = K
			if i < len(vectors) {
				x[i] = row(vectors[i], channel).To(F32)
			}
		}

		// what its tokens do to each other; first, while registers are free
		var within []*Tile // dx, N, dG
		for range kinds + 2 {
			within = append(within, k.Full(F32, 0, d.C, wide))
		}
		meet := func(w border, acc []*Tile) []*Tile {
			decay, where := decay.to(w), w.pairs()
			dx, N := slices.Clone(acc[:kinds]), acc[kinds]
			dG := decayGradient{at: w, k: k, steps: steps, sum: acc[kinds+1]}
			again := c.Add(w.level.Div(d.C)) // c, which the compiler does not see: it would read once and hold p and t
			r, s := d.sides(r, w.close)
			βdecay := decay // βK, kept beside K, would take too many registers
			if d.Rated {
				βdecay = decay.Mul(w.row(β))
			}
			K := w.of(K)
			key := K.Mul(βdecay)
			var dDecay, toK *Tile
			for i, v := range x {
				P, v := where.Where(pairs[i].Load(b, h, again, r, s), 0.0), w.of(v)
				from := w.times(nil, P, key.To(d.DType))
				dx[i] = dx[i].Add(from.Mul(decay))
				dDecay = plus(dDecay, v.Mul(from))
				toK = w.times(toK, transposed(P), v.Mul(decay).To(d.DType))
			}
			dG.add(dDecay.Mul(decay).Add(K.Mul(toK).Mul(βdecay)), w.level)
			return append(dx, N.Add(toK.Mul(decay)), dG.sum)
		}
		for _, w := range []border{{d: d, close: true, turned: true}, {d: d}} {
			for i, x := range within {
				within[i] = w.of(x)
			}
			within = d.overBorders(k, w, within, meet)
			for i, x := range within {
				within[i] = w.back(x)
			}
		}
		dx, N, dG := within[:kinds], within[kinds], decayGradient{at: border{d: d}, k: k, steps: steps, sum: within[kinds+1]}

		// what the states that enter and leave have to do with the chunk
		outside := []*Tile{k.Full(F32, 0, wide), k.Full(F32, 0, d.C, wide)}
		for range asked {
			outside = append(outside, outside[1])
		}
		outside = columns(outside, func(column *Tile, v, acc []*Tile) []*Tile {
			S, R := state(entry, channel, column), state(leaving, channel, column)
			next := []*Tile{acc[0].Add(S.To(F32).Mul(R.To(F32)).Sum(1)), d.dotAdd(acc[1], v[0], R.T())}
			for i, v := range v[1:] {
				next = append(next, d.dotAdd(acc[2+i], v, S.T()))
			}
			return next
		})
		dG.whole = outside[0].Mul(decay.whole())
		n := outside[1].Mul(decay.toEnd())
		N = N.Add(n)
		dG.add(βK.Mul(n), d.matrices()-2)
		γ := decay.fromStart()
		var dγ *Tile
		for i := range dx {
			more := outside[2+i].Mul(γ)
			if i > 0 {
				more = more.Neg()
			}
			dx[i] = dx[i].Add(more)
			dγ = plus(dγ, x[i].Mul(more))
		}
		dG.add(dγ, d.matrices()-1)
		dx[0], N = dx[0].Add(βK.Mul(self)), N.Add(x[0].Mul(self))

		set := func(m *Memory, v *Tile) { setRows(m, v.To(m.DType()), b, t, h, channel, exist) }
		dK := scaled(N, βCol)
		for i := range dx {
			if i < len(vectors) {
				set(dVectors[i], dx[i])
			} else {
				dK = dK.Add(dx[i])
			}
		}
		set(dKeys, dK)
		set(dDecay, dG.all())
		if d.Rated {
			return []*Tile{carry[0].Add(K.Mul(N).Sum(1))}
		}
		return nil
	})
	if d.Rated {
		dRate.StoreIf(exist, carry[0], b, t, h)
	}
	return k
}

// plus is x + y where x may be nil, for 0.
func plus(x, y *Tile) *Tile {
	if x == nil {
		return y
	}
	return x.Add(y)
}
