package grad

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Bodies of loops are closures. XLA allows them no node from outside, so all
// arrays are passed as loop state. GoMLX shares scalar constants and the
// functions of its reductions within a graph, across closures, which XLA does
// not allow: in a body constants are made by ConstAs and sums are products with
// ones.

// Loop describes turns of a body over arrays that are cut along axis 0. It has
// no gradient of its own: it belongs inside Custom.
type Loop struct {
	Turns    int
	Backward bool    // turns go from the last to the first
	Reads    []*Node // [turns,...]: a turn sees its own [...]
	Fixed    []*Node // every turn sees all of them
	Carry    []*Node // handed from turn to turn
}

// Run returns the last carry and what the turns wrote, each array [turns,...].
func (l Loop) Run(body func(reads, fixed, carry []*Node) (next, written []*Node)) (carry, written []*Node) {
	if l.Turns == 1 {
		next, out := body(Each(l.Reads, func(x *Node) *Node { return Squeeze(x, 0) }), l.Fixed, l.Carry)
		return next, Each(out, func(x *Node) *Node { return InsertAxes(x, 0) })
	}
	g := l.Carry[0].Graph()
	first, step := int32(0), int32(1)
	if l.Backward {
		first, step = int32(l.Turns-1), -1
	}
	state := slices.Concat([]*Node{Const(g, first)}, l.Carry, l.Reads, l.Fixed)
	c, r := 1+len(l.Carry), 1+len(l.Carry)+len(l.Reads)
	var writes []shapes.Shape // known once the body is built
	before := len(g.Nodes())
	turn := NewClosure(g, func(g *Graph) []*Node {
		s := parameters(g, state)
		i := s[0]
		next, written := body(Each(s[c:r], func(x *Node) *Node { return readAt(x, i) }), s[r:], s[1:c])
		out := slices.Concat([]*Node{Add(i, Const(g, step))}, next, s[c:])
		for j, y := range written {
			shape := shapes.Make(y.DType(), append([]int{l.Turns}, y.Shape().Dimensions...)...)
			writes = append(writes, shape)
			out = append(out, writeAt(Parameter(g, fmt.Sprintf("w%d", j), shape), i, y))
		}
		return out
	})
	repeated(g, before, len(g.Nodes()), l.Turns)
	for _, s := range writes {
		state = append(state, Zeros(g, s))
	}
	more := NewClosure(g, func(g *Graph) []*Node {
		i := parameters(g, state)[0]
		if l.Backward {
			return []*Node{GreaterOrEqual(i, Const(g, int32(0)))}
		}
		return []*Node{LessThan(i, Const(g, int32(l.Turns)))}
	})
	out := While(more, turn, state...)
	return out[1:c], out[len(out)-len(writes):]
}

func parameters(g *Graph, like []*Node) []*Node {
	out := make([]*Node, len(like))
	for i, x := range like {
		out[i] = Parameter(g, fmt.Sprintf("s%d", i), x.Shape())
	}
	return out
}

// readAt returns x[i].
func readAt(x, i *Node) *Node {
	if !dynamic(x) {
		return Squeeze(Gather(x, Reshape(i, 1, 1)), 0)
	}
	dims := slices.Clone(x.Shape().Dimensions)
	dims[0] = 1
	return Squeeze(DynamicSlice(x, place(x, i), dims), 0)
}

// writeAt returns x with x[i], until then zero, set to y.
func writeAt(x, i, y *Node) *Node {
	y = InsertAxes(y, 0)
	if !dynamic(x) {
		return ScatterSum(x, Reshape(i, 1, 1), y, true, true)
	}
	return DynamicUpdateSlice(x, y, place(x, i))
}

func place(x, i *Node) []*Node {
	at := make([]*Node, x.Rank())
	for axis := range at {
		at[axis] = Const(x.Graph(), int32(0))
	}
	at[0] = i
	return at
}

// dynamic tells whether the backend has dynamic slices; without them a gather
// and a scatter of one row do the same.
func dynamic(x *Node) bool {
	return x.Graph().Backend().Capabilities().Operations[compute.OpTypeDynamicSlice]
}

// Each maps a function over nodes.
func Each(xs []*Node, f func(*Node) *Node) []*Node {
	out := make([]*Node, len(xs))
	for i, x := range xs {
		out[i] = f(x)
	}
	return out
}
