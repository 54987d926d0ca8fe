package delta

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
)

// carry hands the state from chunk to chunk: y [R,C,K] or nil, u [R,C,V], the
// keys k [R,C,K] decayed to the chunk's end, its total decay [R,K or 1,1] or
// nil, s [B,H,K,V]. It returns the states on entry [R,K,V], the last one
// [B,H,K,V], and v [R,C,V].
//
//	v = u - y s        s <- total∘s + kᵀ v
//
// The gradient is written by hand and keeps only the states on entry: with r
// the gradient of the state that leaves a chunk,
//
//	dv <- dv + k r     r <- total∘r - yᵀ dv + (gradient of the state on entry)
//
// is the reversed loop; the rest is one product over all chunks at once.
func (l layout) carry(y, u, k, total, s *Node) (entry, last, v *Node) {
	K, V := k.Shape().Dim(2), u.Shape().Dim(2)
	xs := []*Node{u, k, Reshape(s, l.B*l.H, K, V)}
	erases, decays := y != nil, total != nil
	if erases {
		xs = append(xs, y)
	}
	if decays {
		xs = append(xs, total)
	}
	forward := func(xs []*Node) []*Node {
		u, k, y, total := l.chunks(xs[0]), l.chunks(xs[1]), l.chunks(xs[3%len(xs)]), l.chunks(xs[len(xs)-1])
		s := xs[2]
		entries := make([]*Node, l.N)
		for n := range l.N {
			entries[n] = s
			if erases {
				u[n] = Sub(u[n], grad.NN.Of(y[n], s))
			}
			if decays {
				s = Mul(s, total[n])
			}
			s = Add(s, grad.TN.Of(k[n], u[n]))
		}
		return []*Node{Concatenate(entries, 0), s, Concatenate(u, 0)}
	}
	backward := func(xs, out, d []*Node) []*Node {
		k, y, total := l.chunks(xs[1]), l.chunks(xs[3%len(xs)]), l.chunks(xs[len(xs)-1])
		dEntry, r, dv := l.chunks(d[0]), d[1], l.chunks(d[2])
		leaving := make([]*Node, l.N)
		for n := l.N - 1; n >= 0; n-- {
			leaving[n] = r
			dv[n] = Add(dv[n], grad.NN.Of(k[n], r))
			if decays {
				r = Mul(r, total[n])
			}
			r = Add(r, dEntry[n])
			if erases {
				r = Sub(r, grad.TN.Of(y[n], dv[n]))
			}
		}
		entry, v := out[0], out[2]
		du, rs := Concatenate(dv, 0), Concatenate(leaving, 0)
		dxs := []*Node{du, grad.NT.Of(v, rs), r}
		if erases {
			dxs = append(dxs, Neg(grad.NT.Of(du, entry)))
		}
		if decays {
			dt := ReduceAndKeep(Mul(rs, entry), ReduceSum, -1)
			if xs[len(xs)-1].Shape().Dim(1) == 1 {
				dt = ReduceAndKeep(dt, ReduceSum, 1)
			}
			dxs = append(dxs, dt)
		}
		return dxs
	}
	out := grad.Custom(xs, forward, backward)
	return out[0], Reshape(out[1], s.Shape().Dimensions...), out[2]
}

// chunks cuts x [N·B·H,...] into N parts [B·H,...].
func (l layout) chunks(x *Node) []*Node {
	rows := x.Shape().Dim(0) / l.N
	out := make([]*Node, l.N)
	for n := range out {
		out[n] = SliceAxis(x, 0, AxisRange(n*rows, (n+1)*rows))
	}
	return out
}
