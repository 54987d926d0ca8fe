package scan

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/kalmarz/kalmarz/layers/grad"
)

// learnTree is learn in log depth. The gradient of the state after token i is
//
//	d_i = seed_i + J_{i+1}ᵀ d_{i+1}
//
// where J is upper triangular transposed: an array's gradient reaches its own
// level and the levels before it. The maps (J, seed) compose like affine maps.
func (t *turn) learnTree(dy, d, dw []*Node) (ds, dx, dwNext []*Node) {
	n := len(t.cell.Levels)
	before, after, x := t.states[0], t.states[1], t.xs[0]
	seed := t.cell.Seed(after, x, t.w, dy)
	dims := after[0].Shape().Dimensions
	for i := range seed {
		if seed[i] == nil {
			seed[i] = filled(after[0], 0)
		}
	}
	// The map of token i takes the gradient after it, seed left out, to that
	// before it: d -> J_iᵀ (d + seed_i).
	maps := t.cell.Pull(before, after, x, t.w, seed)
	for j := range n {
		unit := make([]*Node, n)
		for i := range j {
			unit[i] = filled(after[0], 0)
		}
		unit[j] = filled(after[0], 1)
		maps = append(maps, t.cell.Pull(before, after, x, t.w, unit)[:j+1]...)
	}
	maps = grad.Each(maps, func(m *Node) *Node { return Reverse(BroadcastToDims(m, dims...), 0) })
	maps = grad.Each(tree(func(first, last []*Node) []*Node { return composeLinear(n, first, last) }, maps),
		func(m *Node) *Node { return Reverse(m, 0) })
	exit := grad.Each(d, func(x *Node) *Node { return InsertAxes(x, 0) })
	pulled := applyLinear(n, maps, exit) // the gradient before each token
	d = make([]*Node, n)
	for i := range d {
		d[i] = Add(Concatenate([]*Node{cut(pulled[i], 1, t.u), exit[i]}, 0), seed[i])
	}
	dx = t.cell.Learn(before, after, x, t.w, d, dy)
	if len(dw) > 0 {
		dw = add(dw, grad.Each(t.cell.Drift(before, after, x, t.w, d, dy), func(m *Node) *Node { return Squeeze(fold(m, 0, 1), 0) }))
	}
	return grad.Each(pulled, func(p *Node) *Node { return Squeeze(cut(p, 0, 1), 0) }), dx, dw
}

// filled returns an array like x of one value; unlike OnesLike it is allowed in
// a loop's body.
func filled(x *Node, value float64) *Node {
	return BroadcastToShape(ConstAs(x, value), x.Shape())
}

// A linear map with offset is held as the offset's n arrays, then for each
// array j the column of what it contributes to arrays 0..j.

// applyLinear returns the map at d.
func applyLinear(n int, f, d []*Node) []*Node {
	return add(f[:n], applyColumns(n, f, d, n))
}

// applyColumns returns the linear part at d, of which only the first k arrays
// are not zero.
func applyColumns(n int, f, d []*Node, k int) []*Node {
	out := make([]*Node, n)
	columns := f[n:]
	for j := range k {
		for i := range j + 1 {
			term := Mul(columns[i], d[j])
			if out[i] != nil {
				term = Add(out[i], term)
			}
			out[i] = term
		}
		columns = columns[j+1:]
	}
	return out
}

// composeLinear returns the map "first, then last".
func composeLinear(n int, first, last []*Node) []*Node {
	out := applyLinear(n, last, first[:n])
	columns := first[n:]
	for j := range n {
		out = append(out, applyColumns(n, last, columns[:j+1], j+1)[:j+1]...)
		columns = columns[j+1:]
	}
	return out
}
