package scan

import (
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/kalmarz/kalmarz/layers/grad"
)

// run is one scan over N chunks of L tokens. Inside, tokens come first and
// chunks are rows: x [L,N·B,D], states [N·B,lanes].
type run struct {
	cell    *Cell
	plan    Plan
	B, N, L int
	lanes   []int
	x, w, s []*Node
	borders [][]*Node // for each segment the states on entry of its turns
	device  Device
}

func newRun(cell *Cell, x, w, s []*Node, plan Plan) *run {
	r := &run{cell: cell, plan: plan, B: x[0].Shape().Dim(0), N: plan.Chunks, L: x[0].Shape().Dim(1) / plan.Chunks,
		lanes: s[0].Shape().Dimensions[1:], s: s, device: deviceOf(x[0])}
	r.x = grad.Each(x, r.split)
	// A compiler that fuses reads statics where they are used; else a repeated
	// broadcast costs more than one array of the state's size.
	r.w = grad.Each(w, func(n *Node) *Node {
		n = InsertAxes(n, 0)
		if r.device == PureGo {
			n = BroadcastToDims(n, append([]int{r.N * r.B}, r.lanes...)...)
		}
		return n
	})
	return r
}

// split takes [B,T,D] to [L,N·B,D].
func (r *run) split(x *Node) *Node {
	d := x.Shape().Dim(2)
	if r.N == 1 {
		return TransposeAllAxes(x, 1, 0, 2)
	}
	x = TransposeAllAxes(Reshape(x, r.B, r.N, r.L, d), 2, 1, 0, 3)
	return Reshape(x, r.L, r.N*r.B, d)
}

// unsplit takes [L,N·B,D] to [B,T,D].
func (r *run) unsplit(x *Node) *Node {
	d := x.Shape().Dim(2)
	if r.N == 1 {
		return TransposeAllAxes(x, 1, 0, 2)
	}
	x = TransposeAllAxes(Reshape(x, r.L, r.N, r.B, d), 2, 1, 0, 3)
	return Reshape(x, r.B, r.N*r.L, d)
}

// segment is a loop of turns over u tokens each, from token at.
type segment struct{ at, turns, u int }

// segments covers L tokens: full turns, then one shorter turn.
func (r *run) segments() []segment {
	u := min(r.plan.Unroll, r.L)
	out := []segment{{0, r.L / u, u}}
	if rest := r.L % u; rest > 0 {
		out = append(out, segment{r.L - rest, 1, rest})
	}
	return out
}

// of cuts x [L,...] to a segment's [turns,u,...].
func (g segment) of(xs []*Node) []*Node {
	return grad.Each(xs, func(x *Node) *Node {
		dims := x.Shape().Dimensions
		return Reshape(cut(x, g.at, g.at+g.turns*g.u), append([]int{g.turns, g.u}, dims[1:]...)...)
	})
}

// forward returns the outputs and the last state, and keeps the states at the
// turns' borders: less than the tokens themselves if a turn has as many tokens
// as a channel has states.
func (r *run) forward() (ys, last []*Node) {
	s := r.s
	if r.N > 1 {
		s = r.entries()
	}
	var parts [][]*Node
	r.borders = nil
	for _, g := range r.segments() {
		var written []*Node
		s, written = grad.Loop{Turns: g.turns, Reads: g.of(r.x), Fixed: r.w, Carry: s}.Run(
			func(x, w, s []*Node) (next, out []*Node) {
				t := r.turn(x, w, s, g.u)
				return t.last(), append(t.read(), s...)
			})
		outputs := len(written) - len(s)
		parts = append(parts, grad.Each(written[:outputs], flat))
		r.borders = append(r.borders, written[outputs:])
	}
	rows := r.N * r.B
	return grad.Each(stackSegments(parts), r.unsplit), grad.Each(s, func(x *Node) *Node { return cut(x, rows-r.B, rows) })
}

// flat takes [turns,u,...] to [turns·u,...].
func flat(x *Node) *Node {
	dims := x.Shape().Dimensions
	return Reshape(x, append([]int{dims[0] * dims[1]}, dims[2:]...)...)
}

// stackSegments joins the arrays of all segments along the token axis.
func stackSegments(parts [][]*Node) []*Node {
	if len(parts) == 1 {
		return parts[0]
	}
	return join(parts[0], parts[1])
}

// backward returns the gradients of tokens, statics and the first state.
func (r *run) backward(dys, dlast []*Node) (dx, dw, ds []*Node) {
	dys = grad.Each(dys, r.split)
	ds = dlast
	if r.N > 1 {
		ds = r.exits(dys, dlast)
	}
	dw = grad.Each(r.w, func(*Node) *Node { return r.blank() })
	segs := r.segments()
	parts := make([][]*Node, len(segs))
	for i := len(segs) - 1; i >= 0; i-- {
		g := segs[i]
		nx, ny, ns := len(r.x), len(dys), len(ds)
		carry, written := grad.Loop{Turns: g.turns, Backward: true, Fixed: r.w, Carry: concat(ds, dw),
			Reads: concat(g.of(r.x), g.of(dys), r.borders[i])}.Run(
			func(reads, w, carry []*Node) (next, out []*Node) {
				t := r.turn(reads[:nx], w, reads[nx+ny:], g.u)
				ds, dx, dw := t.learn(reads[nx:nx+ny], carry[:ns], carry[ns:])
				return concat(ds, dw), dx
			})
		ds, dw = carry[:ns], carry[ns:]
		parts[i] = grad.Each(written, func(d *Node) *Node {
			if d.Rank() > 4 {
				d = ReduceSum(d, -1)
			}
			return flat(d)
		})
	}
	dx = grad.Each(stackSegments(parts), r.unsplit)
	dw = grad.Each(dw, func(n *Node) *Node { return ReduceSum(n, 0) })
	return dx, dw, grad.Each(ds, func(x *Node) *Node { return cut(x, 0, r.B) })
}

// blank returns zeros for all rows, [N·B,lanes].
func (r *run) blank() *Node {
	return Zeros(r.s[0].Graph(), shapes.Make(r.s[0].DType(), append([]int{r.N * r.B}, r.lanes...)...))
}
