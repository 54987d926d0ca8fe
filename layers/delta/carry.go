package delta

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
)

// inlineChunks is the number of chunks up to which the loop over them is
// repeated in the graph, where a compiler can overlap its products; beyond it
// the graph, and the time to compile it, would grow with the sequence. Then a
// turn of the loop takes turnChunks of them.
const inlineChunks, turnChunks = 64, 8

// wholeTurns is the number of chunks for n of them: the loop takes whole turns.
func wholeTurns(n int) int {
	if n <= inlineChunks {
		return n
	}
	return (n + turnChunks - 1) / turnChunks * turnChunks
}

// carry hands the state from chunk to chunk: y [R,C,K] or nil, u [R,C,V], the
// keys k [R,C,K] decayed to the chunk's end, its total decay [R,K or 1,1] or
// nil, s [B,H,K,V]. It returns the states on entry [R,K,V], the last one
// [B,H,K,V], and v [R,C,V]. s and total are float32 where the rest is bfloat16.
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
	xs := []*Node{u, k, Reshape(s, l.B*l.H, k.Shape().Dim(2), u.Shape().Dim(2))}
	c := crossing{l: l, erases: y != nil, decays: total != nil}
	if c.erases {
		xs = append(xs, y)
	}
	if c.decays {
		xs = append(xs, total)
	}
	out := grad.Custom(xs, c.forward, c.backward)
	return out[0], Reshape(out[1], s.Shape().Dimensions...), out[2]
}

// crossing is the loop over chunks; y comes fourth and the total decay last in
// its inputs, where they are.
type crossing struct {
	l              layout
	erases, decays bool
}

// step takes the state across one chunk: from what it reads of it, [BH,...]
// each, and the state, to the next state and two arrays that it writes.
type step func(x []*Node, s *Node) (next *Node, written []*Node)

// run takes steps over arrays [R,...]; what they write comes back as [R,...].
func (c crossing) run(backward bool, reads []*Node, s *Node, f step) (*Node, []*Node) {
	rows := c.l.B * c.l.H
	if c.l.N <= inlineChunks {
		return f.inline(backward, rows, reads, s)
	}
	loop := grad.Loop{Turns: c.l.N / turnChunks, Backward: backward, Carry: []*Node{s}}
	loop.Reads = grad.Each(reads, func(x *Node) *Node {
		return Reshape(x, append([]int{loop.Turns, turnChunks * rows}, x.Shape().Dimensions[1:]...)...)
	})
	last, written := loop.Run(func(x, _, carry []*Node) (next, written []*Node) {
		s, out := f.inline(backward, rows, x, carry[0])
		return []*Node{s}, out
	})
	return last[0], grad.Each(written, func(x *Node) *Node {
		return Reshape(x, append([]int{-1}, x.Shape().Dimensions[2:]...)...)
	})
}

// inline repeats the step in the graph for every chunk of its arrays.
func (f step) inline(backward bool, rows int, reads []*Node, s *Node) (*Node, []*Node) {
	n := reads[0].Shape().Dim(0) / rows
	first, second := make([]*Node, n), make([]*Node, n)
	for turn := range n {
		i := turn
		if backward {
			i = n - 1 - turn
		}
		x := grad.Each(reads, func(x *Node) *Node { return SliceAxis(x, 0, AxisRange(i*rows, (i+1)*rows)) })
		var written []*Node
		s, written = f(x, s)
		first[i], second[i] = written[0], written[1]
	}
	return s, []*Node{Concatenate(first, 0), Concatenate(second, 0)}
}

func (c crossing) forward(xs []*Node) []*Node {
	reads := append([]*Node{xs[0], xs[1]}, xs[3:]...)
	last, out := c.run(false, reads, xs[2], func(x []*Node, s *Node) (*Node, []*Node) {
		v, next, seen := x[0], s, c.l.narrow(s)
		if c.erases {
			v = c.l.narrow(Sub(grad.Wide(v), grad.NN.Wide(x[2], seen)))
		}
		if c.decays {
			next = Mul(s, x[len(x)-1])
		}
		return Add(next, grad.TN.Wide(x[1], v)), []*Node{seen, v}
	})
	return []*Node{out[0], last, out[1]}
}

func (c crossing) backward(xs, ys, ds []*Node) []*Node {
	entry, v := ys[0], ys[2]
	reads := append([]*Node{xs[1], ds[0], ds[2]}, xs[3:]...)
	first, out := c.run(true, reads, ds[1], func(x []*Node, r *Node) (*Node, []*Node) {
		seen, next := c.l.narrow(r), r
		dv := c.l.narrow(Add(grad.Wide(x[2]), grad.NN.Wide(x[0], seen)))
		if c.decays {
			next = Mul(r, x[len(x)-1])
		}
		next = Add(next, grad.Wide(x[1]))
		if c.erases {
			next = Sub(next, grad.TN.Wide(x[3], dv))
		}
		return next, []*Node{seen, dv}
	})
	leaving, dv := out[0], out[1]
	dxs := []*Node{dv, c.l.narrow(grad.NT.Wide(v, leaving)), first}
	if c.erases {
		dxs = append(dxs, c.l.narrow(Neg(grad.NT.Wide(dv, entry))))
	}
	if c.decays {
		dt := ReduceAndKeep(Mul(grad.Wide(leaving), grad.Wide(entry)), ReduceSum, -1)
		if xs[len(xs)-1].Shape().Dim(1) == 1 {
			dt = ReduceAndKeep(dt, ReduceSum, 1)
		}
		dxs = append(dxs, dt)
	}
	return dxs
}
