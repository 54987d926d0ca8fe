package scan

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/kalmarz/kalmarz/layers/grad"
)

// Two levels: N chunks are rows of one loop, each of which must know the state
// with which its chunk begins. A first loop composes each chunk's map, all
// chunks at once; the maps then carry the state over the N borders. In reverse
// the same is done with the gradient of the state, which is linear in the
// gradient of the state after it.

// entries returns the states [N·B,lanes] at the chunks' beginnings.
func (r *run) entries() []*Node {
	var known []*Node // entry states of the levels that are done
	for i, l := range r.cell.Levels {
		size := l.Map.Size()
		carry := concat(l.Map.Unit(r.blank()), known)
		for _, g := range r.segments() {
			carry, _ = grad.Loop{Turns: g.turns, Reads: g.of(r.x), Fixed: r.w, Carry: carry}.Run(
				func(x, w, carry []*Node) (next, _ []*Node) {
					return r.compose(i, x, w, carry[:size], carry[size:], g.u), nil
				})
		}
		s := r.s[i]
		var at []*Node
		for n := range r.N {
			at = append(at, s)
			s = l.Map.Apply(grad.Each(carry[:size], func(x *Node) *Node { return cut(x, n*r.B, (n+1)*r.B) }), s)
		}
		known = append(known, Concatenate(at, 0))
	}
	return known
}

// compose extends the map f of level i by u tokens, given the states of the
// levels before it, and returns both.
func (r *run) compose(i int, x, w, f, known []*Node, u int) []*Node {
	part := *r.cell
	part.Levels = part.Levels[:i]
	l := r.cell.Levels[i]
	for t := range u {
		at := grad.Each(x, func(n *Node) *Node { return Squeeze(cut(n, t, t+1), 0) })
		var after []*Node
		for j, k := range part.Levels {
			after = append(after, k.Map.Apply(k.Leaf(known[:j], after, at, w), known[j]))
		}
		f = r.once(l.Map.Compose(f, l.Leaf(known, after, at, w)))
		known = after
	}
	return concat(f, known)
}

// exits returns the gradients [N·B,lanes] of the states at the chunks' ends.
func (r *run) exits(dys, dlast []*Node) []*Node {
	n := len(r.s)
	blank := r.blank()
	// carry: the gradient without that of the exit, then for each array j of the
	// state what a unit gradient of it at the exit becomes in arrays 0..j.
	var carry []*Node
	for range n {
		carry = append(carry, blank)
	}
	for j := range n {
		for range j {
			carry = append(carry, blank)
		}
		carry = append(carry, OnesLike(blank))
	}
	segs := r.segments()
	for i := len(segs) - 1; i >= 0; i-- {
		g := segs[i]
		nx, ny := len(r.x), len(dys)
		carry, _ = grad.Loop{Turns: g.turns, Backward: true, Fixed: r.w, Carry: carry,
			Reads: concat(g.of(r.x), g.of(dys), r.borders[i])}.Run(func(reads, w, carry []*Node) (next, _ []*Node) {
			return r.pull(r.turn(reads[:nx], w, reads[nx+ny:], g.u), reads[nx:nx+ny], carry), nil
		})
	}
	d := dlast
	at := make([][]*Node, n)
	for c := r.N - 1; c >= 0; c-- {
		for i := range at {
			at[i] = append([]*Node{d[i]}, at[i]...)
		}
		part := grad.Each(carry, func(x *Node) *Node { return cut(x, c*r.B, (c+1)*r.B) })
		before := append([]*Node{}, part[:n]...)
		part = part[n:]
		for j := range n {
			for i := range j + 1 {
				before[i] = Add(before[i], Mul(part[i], d[j]))
			}
			part = part[j+1:]
		}
		d = before
	}
	out := make([]*Node, n)
	for i := range out {
		out[i] = Concatenate(at[i], 0)
	}
	return out
}

// pull takes the carry of exits over a turn.
func (r *run) pull(t *turn, dy, carry []*Node) []*Node {
	n := len(r.s)
	for i := t.u - 1; i >= 0; i-- {
		s, next, x := t.at(i)
		dyi := grad.Each(dy, func(n *Node) *Node { return Squeeze(cut(n, i, i+1), 0) })
		out := r.cell.Pull(s, next, x, t.statics(), r.once(add(carry[:n], r.cell.Seed(next, x, t.statics(), dyi))))
		units := carry[n:]
		for j := range n {
			d := make([]*Node, n)
			copy(d, units[:j+1])
			out = append(out, r.cell.Pull(s, next, x, t.statics(), d)[:j+1]...)
			units = units[j+1:]
		}
		carry = r.once(out)
	}
	return carry
}
