// Package grad holds what graph code in several layers shares: operations with
// hand-written reverse-mode gradients, and numerically safe elementary
// functions. All functions build graphs and panic on wrong shapes, as GoMLX
// does.
package grad

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// Backward returns the gradients of the inputs xs, given the outputs ys and their
// gradients dys (zeros where the loss does not depend on an output). A nil
// entry means that no gradient flows to that input.
type Backward func(xs, ys, dys []*Node) (dxs []*Node)

// Custom evaluates fwd(xs) and differentiates it with vjp instead of GoMLX's
// automatic differentiation. fwd may hold anything, loops included; nothing in
// it is differentiated through, so everything that needs a gradient must be in
// xs, not captured.
//
// GoMLX has no public operation with several inputs and outputs and a custom
// gradient. One is composed of identities with custom gradients on both sides
// of an optimization barrier: reverse mode visits nodes by falling creation
// order, so the outputs' identities collect dys before the inputs' identities
// ask for dxs, and the barrier makes the inputs ancestors of the outputs.
func Custom(xs []*Node, fwd func(xs []*Node) []*Node, vjp Backward) []*Node {
	return CustomOf(xs, fwd, func(xs, ys, dys []*Node) []*Node {
		for j, dy := range dys {
			if dy == nil {
				dys[j] = ZerosLike(ys[j])
			}
		}
		return vjp(xs, ys, dys)
	})
}

// CustomOf is Custom for a vjp that can do with less where the loss does not depend
// on an output: its gradient is nil then.
func CustomOf(xs []*Node, fwd func(xs []*Node) []*Node, vjp Backward) []*Node {
	n := len(xs)
	var (
		ys       []*Node
		dys, dxs []*Node
		consumed bool
	)
	ins, cut := make([]*Node, n), make([]*Node, n)
	for i, x := range xs {
		ins[i] = IdentityWithCustomGradient(x, func(_, zero *Node) *Node {
			if !consumed {
				dxs, consumed = vjp(cut, ys, dys), true
			}
			if dxs[i] == nil {
				return zero
			}
			return dxs[i]
		})
	}
	for i := range ins {
		cut[i] = StopGradient(ins[i])
	}
	ys = fwd(cut)
	through := append([]*Node{}, ins...)
	for _, y := range ys {
		through = append(through, StopGradient(y))
	}
	through = OptimizationBarriers(through...)
	outs := make([]*Node, len(ys))
	for j := range ys {
		outs[j] = IdentityWithCustomGradient(through[n+j], func(_, dy *Node) *Node {
			if consumed || dys == nil { // a new pass of Gradient begins
				dys, dxs, consumed = make([]*Node, len(ys)), nil, false
			}
			dys[j] = dy
			return dy
		})
	}
	return outs
}

// Unstack returns the slices of x along axis, without that axis. Its gradient
// stacks, in time proportional to x: differentiating a loop of plain slices
// pads each of them to the whole of x, which is quadratic in their number.
func Unstack(x *Node, axis int) []*Node {
	n := x.Shape().Dim(axis)
	if n == 1 {
		return []*Node{Squeeze(x, axis)}
	}
	return Custom([]*Node{x}, func(xs []*Node) []*Node {
		out := make([]*Node, n)
		for i := range out {
			out[i] = Squeeze(SliceAxis(xs[0], axis, AxisRange(i, i+1)), axis)
		}
		return out
	}, func(_, _, dys []*Node) []*Node {
		return []*Node{Stack(dys, axis)}
	})
}

// Cut divides x along axis into parts of the given sizes; their sum must be the
// axis's length. Its gradient concatenates.
func Cut(x *Node, axis int, sizes ...int) []*Node {
	if len(sizes) == 1 {
		return []*Node{x}
	}
	return Custom([]*Node{x}, func(xs []*Node) []*Node {
		out := make([]*Node, len(sizes))
		at := 0
		for i, n := range sizes {
			out[i] = SliceAxis(xs[0], axis, AxisRange(at, at+n))
			at += n
		}
		return out
	}, func(_, _, dys []*Node) []*Node {
		return []*Node{Concatenate(dys, axis)}
	})
}
