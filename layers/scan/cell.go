package scan

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/kalmarz/kalmarz/layers/grad"
)

// Cell is a recurrence whose tokens are narrow and whose state is wide: the
// state's coefficients are formed from the tokens inside the loop, so that
// nothing as large as a state per token goes through memory.
//
// A state is one or more arrays [B,lanes]; a token is a set of arrays x [B,D];
// statics w [lanes] are the same for all tokens. The functions see any number
// of axes before [B,...], statics with as many axes as the state (some of
// length 1), and must keep to the operations that a loop's body allows. Pull,
// Seed, Learn and Drift are the reverse mode, written by hand: Run never
// differentiates through a loop.
type Cell struct {
	Levels []Level // one for each array of the state

	// Next returns the state after a token; nil applies the levels' maps.
	Next func(s, x, w []*Node) []*Node
	// Read returns the outputs [B,D] from the state after a token.
	Read func(next, x, w []*Node) []*Node
	// Pull takes d, the gradient of next, to the gradient of s, and is linear in
	// d. A nil array in d is zero; trailing arrays are nil together, and then so
	// are those of the result.
	Pull func(s, next, x, w, d []*Node) []*Node
	// Seed takes dy, the gradients of the outputs, to the gradient of next.
	Seed func(next, x, w, dy []*Node) []*Node
	// Learn returns the gradients of x from d, the whole gradient of next, and
	// dy. Where an array has one axis more than its x, Run sums over that axis.
	Learn func(s, next, x, w, d, dy []*Node) []*Node
	// Drift returns the gradients of the statics, as wide as the state; nil
	// without statics.
	Drift func(s, next, x, w, d, dy []*Node) []*Node
}

// Level is one array of the state, moved by maps that may depend on the token
// and on the arrays of the levels before it.
type Level struct {
	Map Map
	// Leaf returns a token's map, given the arrays of the earlier levels before
	// and after the token.
	Leaf func(before, after, x, w []*Node) []*Node
}

// Run evaluates the cell over tokens x [B,T,D] from the state s [B,lanes] with
// statics w [lanes]. It returns the outputs [B,T,D] and the last state.
func Run(cell *Cell, x, w, s []*Node, plan Plan) (ys, last []*Node) {
	B, T := x[0].Shape().Dim(0), x[0].Shape().Dim(1)
	lanes := s[0].Shape().Dimensions[1:]
	for _, n := range x {
		if n.Rank() != 3 || n.Shape().Dim(0) != B || n.Shape().Dim(1) != T || n.Shape().Size() == 0 {
			exceptions.Panicf("scan: tokens %s, expected [B,T,D] with B=%d, T=%d and no empty axis", n.Shape(), B, T)
		}
	}
	for _, n := range s {
		if n.Shape().CheckDims(append([]int{B}, lanes...)...) != nil {
			exceptions.Panicf("scan: state %s, expected batch %d and lanes %v", n.Shape(), B, lanes)
		}
	}
	for _, n := range w {
		if n.Shape().CheckDims(lanes...) != nil {
			exceptions.Panicf("scan: static %s, expected lanes %v", n.Shape(), lanes)
		}
	}
	width := 0
	for _, n := range x {
		width += n.Shape().Dim(2)
	}
	plan = plan.fill(deviceOf(x[0]), B, T, s[0].Shape().Size()/B, width)
	N := plan.Chunks
	head := T - T%N
	if head == T {
		return even(cell, x, w, s, plan)
	}
	// The tokens that do not fill chunks follow in a scan of their own.
	front, back := make([]*Node, len(x)), make([]*Node, len(x))
	for i := range x {
		parts := grad.Cut(x[i], 1, head, T-head)
		front[i], back[i] = parts[0], parts[1]
	}
	ys, s = even(cell, front, w, s, plan)
	plan.Chunks = 1
	rest, last := even(cell, back, w, s, plan)
	for i := range ys {
		ys[i] = Concatenate([]*Node{ys[i], rest[i]}, 1)
	}
	return ys, last
}

// even is Run where the number of chunks divides T.
func even(cell *Cell, x, w, s []*Node, plan Plan) (ys, last []*Node) {
	nx, nw := len(x), len(w)
	var kept *run
	var outputs int
	out := grad.Custom(concat(x, w, s), func(in []*Node) []*Node {
		kept = newRun(cell, in[:nx], in[nx:nx+nw], in[nx+nw:], plan)
		ys, last := kept.forward()
		outputs = len(ys)
		return concat(ys, last)
	}, func(_, _, dys []*Node) []*Node {
		return concat(kept.backward(dys[:outputs], dys[outputs:]))
	})
	return out[:outputs], out[outputs:]
}

func concat(parts ...[]*Node) []*Node {
	var out []*Node
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// after returns the state after a token.
func (c *Cell) after(s, x, w []*Node) []*Node {
	if c.Next != nil {
		return c.Next(s, x, w)
	}
	var next []*Node
	for i, l := range c.Levels {
		next = append(next, l.Map.Apply(l.Leaf(s[:i], next, x, w), s[i]))
	}
	return next
}
