package scan

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// Masked returns the cell with one more token array [B,1], the last: where it is
// 0 the token is padding. Padding leaves the state as it is, bit for bit; its
// outputs are 0, and so are the gradients of its tokens, provided that these are
// finite.
func Masked(cell *Cell) *Cell {
	out := *cell
	out.Levels = nil
	for _, l := range cell.Levels {
		out.Levels = append(out.Levels, Level{Map: l.Map, Leaf: func(before, after, x, w []*Node) []*Node {
			x, m := unmask(x)
			leaf := l.Leaf(before, after, x, w)
			return choose(m, leaf, l.Map.neutral(leaf[1]))
		}})
	}
	out.Next = func(s, x, w []*Node) []*Node {
		x, m := unmask(x)
		return choose(m, cell.after(s, x, w), s)
	}
	out.Read = func(next, x, w []*Node) []*Node {
		x, m := unmask(x)
		return choose(m, cell.Read(next, x, w), nil)
	}
	out.Pull = func(s, next, x, w, d []*Node) []*Node {
		x, m := unmask(x)
		return choose(m, cell.Pull(s, next, x, w, choose(m, d, nil)), d)
	}
	out.Seed = func(next, x, w, dy []*Node) []*Node {
		x, m := unmask(x)
		return cell.Seed(next, x, w, choose(m, dy, nil))
	}
	out.Learn = func(s, next, x, w, d, dy []*Node) []*Node {
		tokens, m := unmask(x)
		dx := cell.Learn(s, next, tokens, w, choose(m, d, nil), choose(m, dy, nil))
		return append(dx, filled(m, 0)) // the mask itself has no gradient
	}
	if cell.Drift != nil {
		out.Drift = func(s, next, x, w, d, dy []*Node) []*Node {
			x, m := unmask(x)
			return cell.Drift(s, next, x, w, choose(m, d, nil), choose(m, dy, nil))
		}
	}
	return &out
}

func unmask(x []*Node) (tokens []*Node, mask *Node) {
	return x[: len(x)-1 : len(x)-1], x[len(x)-1]
}

// choose returns xs where the mask [..,1] is not 0, elsewhere the other arrays
// or, without any, zeros. A nil array stays nil.
func choose(mask *Node, xs, other []*Node) []*Node {
	out := make([]*Node, len(xs))
	for i, x := range xs {
		if x == nil {
			continue
		}
		m := NotEqual(mask, ConstAs(mask, 0))
		for m.Rank() < x.Rank() {
			m = InsertAxes(m, -1)
		}
		dims := m.Shape().Clone().Dimensions
		for axis := range dims {
			dims[axis] = max(dims[axis], x.Shape().Dim(axis))
		}
		no := ConstAs(x, 0)
		if other != nil {
			no = other[i]
		}
		out[i] = Where(BroadcastToDims(m, dims...), spread(x, dims), spread(no, dims))
	}
	return out
}

func spread(x *Node, dims []int) *Node {
	if x.Shape().CheckDims(dims...) == nil {
		return x
	}
	return BroadcastToDims(x, dims...)
}

// neutral is Unit in a loop's body.
func (m Map) neutral(like *Node) []*Node {
	zero, one := ConstAs(like, 0), ConstAs(like, 1)
	switch m {
	case AffineMap:
		return []*Node{one, zero}
	case MaxPlusMap:
		return []*Node{zero, Infinity(like.Graph(), like.DType(), -1)}
	}
	return []*Node{one, zero, zero, one}
}
