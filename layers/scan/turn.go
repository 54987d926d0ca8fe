package scan

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/kalmarz/kalmarz/layers/grad"
)

// turn is u tokens of one loop body: x [u,R,D], and the states around each.
type turn struct {
	*run
	u      int
	xs     [][]*Node // by token, or one entry for all of them in a tree
	w      []*Node
	states [][]*Node // u+1 states, or in a tree those before and those after
}

func (r *run) turn(x, w, s []*Node, u int) *turn {
	t := &turn{run: r, u: u, w: w}
	if r.plan.Tree && u > 1 {
		t.w = grad.Each(w, func(n *Node) *Node { return InsertAxes(n, 0) })
		t.xs = [][]*Node{x}
		t.grow(s)
		return t
	}
	t.states = [][]*Node{s}
	for i := range u {
		at := grad.Each(x, func(n *Node) *Node { return Squeeze(cut(n, i, i+1), 0) })
		t.xs = append(t.xs, at)
		s = r.cell.after(s, at, w)
		t.states = append(t.states, s)
	}
	return t
}

// grow finds the states [u,R,lanes] of a tree, level by level: each level's
// maps need the states of the levels before it.
func (t *turn) grow(s []*Node) {
	dims := append([]int{t.u}, s[0].Shape().Dimensions...)
	var before, after []*Node
	for i, l := range t.cell.Levels {
		leaf := grad.Each(l.Leaf(before, after, t.xs[0], t.w), func(n *Node) *Node { return BroadcastToDims(n, dims...) })
		first := InsertAxes(s[i], 0)
		next := l.Map.Apply(tree(l.Map.Compose, leaf), first)
		after = append(after, next)
		before = append(before, Concatenate([]*Node{first, cut(next, 0, t.u-1)}, 0))
	}
	t.states = [][]*Node{before, after}
}

func (t *turn) tree() bool { return len(t.xs) == 1 && t.u > 1 }

// last returns the state after the turn.
func (t *turn) last() []*Node {
	last := t.states[len(t.states)-1]
	if t.tree() {
		return grad.Each(last, func(n *Node) *Node { return Squeeze(cut(n, t.u-1, t.u), 0) })
	}
	return last
}

// read returns the outputs [u,R,D].
func (t *turn) read() []*Node {
	if t.whole() {
		_, next, x, w := t.all()
		return t.cell.Read(next, x, w)
	}
	outs := make([][]*Node, t.u)
	for i, x := range t.xs {
		outs[i] = t.cell.Read(t.states[i+1], x, t.w)
	}
	return stack(outs)
}

// whole tells whether outputs and gradients of tokens are formed for all tokens
// of a turn at once: a tree has them so, and a compiler makes fewer kernels.
func (t *turn) whole() bool { return t.tree() || t.device == GPU }

// all returns the states before and after all tokens, the tokens and the
// statics, with the axis of tokens first.
func (t *turn) all() (before, after, x, w []*Node) {
	if t.tree() {
		return t.states[0], t.states[1], t.xs[0], t.w
	}
	w = grad.Each(t.w, func(n *Node) *Node { return InsertAxes(n, 0) })
	return stack(t.states[:t.u]), stack(t.states[1:]), stack(t.xs), w
}

// stack turns u lists of arrays into a list of arrays [u,...].
func stack(byToken [][]*Node) []*Node {
	out := make([]*Node, len(byToken[0]))
	for j := range out {
		column := make([]*Node, len(byToken))
		for i := range column {
			column[i] = byToken[i][j]
		}
		out[j] = Stack(column, 0)
	}
	return out
}

// learn takes the gradient d of the state after the turn and those of the
// outputs to the gradients of the state before, of the tokens and, added to dw,
// of the statics.
func (t *turn) learn(dy, d, dw []*Node) (dbefore, dx, dwNext []*Node) {
	if t.tree() {
		return t.learnTree(dy, d, dw)
	}
	dxs, ds := make([][]*Node, t.u), make([][]*Node, t.u)
	for i := t.u - 1; i >= 0; i-- {
		s, next, x := t.states[i], t.states[i+1], t.xs[i]
		dyi := grad.Each(dy, func(n *Node) *Node { return Squeeze(cut(n, i, i+1), 0) })
		d = t.once(add(d, t.cell.Seed(next, x, t.w, dyi)))
		if t.whole() {
			ds[i] = d
		} else {
			dxs[i] = t.cell.Learn(s, next, x, t.w, d, dyi)
		}
		if len(dw) > 0 {
			dw = add(dw, t.cell.Drift(s, next, x, t.w, d, dyi))
		}
		d = t.cell.Pull(s, next, x, t.w, d)
	}
	if t.whole() {
		before, after, x, w := t.all()
		return d, t.cell.Learn(before, after, x, w, stack(ds), dy), dw
	}
	return d, stack(dxs), dw
}

func add(a, b []*Node) []*Node {
	out := slices.Clone(a)
	for i := range out {
		switch {
		case a[i] == nil:
			out[i] = b[i]
		case b[i] != nil:
			out[i] = Add(a[i], b[i])
		}
	}
	return out
}

// at returns the states around token i and the token.
func (t *turn) at(i int) (s, next, x []*Node) {
	if !t.tree() {
		return t.states[i], t.states[i+1], t.xs[i]
	}
	one := func(n *Node) *Node { return Squeeze(cut(n, i, i+1), 0) }
	return grad.Each(t.states[0], one), grad.Each(t.states[1], one), grad.Each(t.xs[0], one)
}

// statics returns w as single tokens see it.
func (t *turn) statics() []*Node {
	if !t.tree() {
		return t.w
	}
	return grad.Each(t.w, func(n *Node) *Node { return Squeeze(n, 0) })
}
