package delta

// The recurrent form: a loop over tokens, or for one token its step alone. With
// heads flattened into n = B·H, a turn sees q, k, e as rows [n,1,K], z as
// [n,1,V] and the decay α as [n,1 or K,1].

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
)

// Recurrent evaluates the recurrence token by token.
//
// Its gradient is the reversed loop, with R the gradient of S_t:
//
//	R <- R + q doᵀ       du <- du + Rᵀk       R̃ = R - e duᵀ       R <- α∘R̃
//
// from which dq = S_t do, dk = R u, dz = du, de = -S̃ du and the gradient of the
// log-decay, the row sums of R̃∘S̃, follow for all tokens at once.
func Recurrent(in Inputs) Outputs {
	T := in.check()
	in = in.Unrated()
	r := recurrence{B: in.Q.Shape().Dim(0), T: T, H: in.Q.Shape().Dim(2), erases: in.Erase != nil, decays: in.LogDecay != nil}
	K, V := in.Q.Shape().Dim(3), in.Write.Shape().Dim(3)
	state := in.state()
	xs := []*Node{r.tokens(in.Q), r.tokens(in.K), r.tokens(in.Write), Reshape(state, r.B*r.H, K, V)}
	if r.erases {
		xs = append(xs, r.tokens(in.Erase))
	}
	if r.decays {
		g := in.LogDecay
		if g.Rank() == 3 {
			g = InsertAxes(g, -1)
		}
		g = r.tokens(g)
		xs = append(xs, Reshape(g, T, r.B*r.H, -1, 1))
	}
	out := grad.Custom(xs, r.forward, r.backward)
	return Outputs{
		O:     ConvertDType(r.join(out[0]), in.Q.DType()),
		State: Reshape(out[1], state.Shape().Dimensions...),
		U:     ConvertDType(r.join(out[2]), in.Q.DType()),
	}
}

type recurrence struct {
	B, T, H        int
	erases, decays bool
}

// tokens turns [B,T,H,D] into [T,BH,1,D].
func (r recurrence) tokens(x *Node) *Node {
	x = TransposeAllAxes(grad.Wide(x), 1, 0, 2, 3)
	return Reshape(x, r.T, r.B*r.H, 1, -1)
}

// join turns [T,BH,1,D] into [B,T,H,D].
func (r recurrence) join(x *Node) *Node {
	return TransposeAllAxes(Reshape(x, r.T, r.B, r.H, -1), 1, 0, 2, 3)
}

// optional returns e and the log-decay, nil where there is none.
func (r recurrence) optional(xs []*Node) (e, g *Node) {
	rest := xs[4:]
	if r.erases {
		e, rest = rest[0], rest[1:]
	}
	if r.decays {
		g = rest[0]
	}
	return e, g
}

// forward returns o, S_T, u and, for the gradient, the states before each token.
func (r recurrence) forward(xs []*Node) []*Node {
	e, g := r.optional(xs)
	reads := xs[:3:3]
	if r.erases {
		reads = append(reads, e)
	}
	if r.decays {
		reads = append(reads, Exp(g))
	}
	carry, written := grad.Loop{Turns: r.T, Reads: reads, Carry: xs[3:4]}.Run(func(x, _, carry []*Node) (next, written []*Node) {
		q, k, u, s := x[0], x[1], x[2], carry[0]
		before := s
		if r.decays {
			s = Mul(s, x[len(x)-1])
		}
		if r.erases {
			u = Sub(u, grad.NN.Of(x[3], s))
		}
		s = Add(s, grad.TN.Of(k, u))
		return []*Node{s}, []*Node{grad.NN.Of(q, s), u, before}
	})
	return []*Node{written[0], carry[0], written[1], written[2]}
}

func (r recurrence) backward(xs, ys, ds []*Node) []*Node {
	q, k := xs[0], xs[1]
	e, g := r.optional(xs)
	u, s := ys[2], ys[3]
	reads := []*Node{q, k, ds[0], ds[2]}
	if r.erases {
		reads = append(reads, e)
	}
	if r.decays {
		a := Exp(g)
		reads = append(reads, a)
		s = Mul(s, a) // S̃
	}
	carry, written := grad.Loop{Turns: r.T, Backward: true, Reads: reads, Carry: ds[1:2]}.Run(func(x, _, carry []*Node) (next, written []*Node) {
		R := Add(carry[0], grad.TN.Of(x[0], x[2]))
		du := Add(x[3], grad.NN.Of(x[1], R))
		before := R
		if r.erases {
			before = Sub(R, grad.TN.Of(x[4], du))
		}
		leaving := before
		if r.decays {
			leaving = Mul(before, x[len(x)-1])
		}
		return []*Node{leaving}, []*Node{R, du, before}
	})
	R, du, before := written[0], written[1], written[2]
	after := Add(s, r.each(grad.TN, k, u))
	dxs := []*Node{r.each(grad.NT, ds[0], after), r.each(grad.NT, u, R), du, carry[0]}
	if r.erases {
		dxs = append(dxs, Neg(r.each(grad.NT, du, s)))
	}
	if r.decays {
		dg := ReduceAndKeep(Mul(before, s), ReduceSum, -1)
		if g.Shape().Dim(2) == 1 {
			dg = ReduceAndKeep(dg, ReduceSum, 2)
		}
		dxs = append(dxs, dg)
	}
	return dxs
}

// each multiplies the matrices of all tokens.
func (r recurrence) each(l grad.Layout, a, b *Node) *Node {
	flat := func(x *Node) *Node { return Reshape(x, -1, x.Shape().Dim(2), x.Shape().Dim(3)) }
	y := l.Of(flat(a), flat(b))
	return Reshape(y, r.T, -1, y.Shape().Dim(1), y.Shape().Dim(2))
}
