package scan

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/kalmarz/kalmarz/layers/grad"
)

// Map is a family of maps of a state, closed under composition.
type Map uint8

const (
	// AffineMap is x -> a x + b, the pair (a, b).
	AffineMap Map = iota
	// MoebiusMap is x -> (a x + b) / (c x + d) with a, b, c, d >= 0 and a + d > 0,
	// the matrix (a, b, c, d) up to a factor. Products are divided by their
	// trace: no entry is negative, so nothing cancels, a and d stay in [0, 1]
	// and bc <= 1/4, however many maps are composed.
	MoebiusMap
	// MaxPlusMap is x -> max(x + a, b), the pair (a, b).
	MaxPlusMap
)

// Size is the number of arrays that hold a map.
func (m Map) Size() int {
	if m == MoebiusMap {
		return 4
	}
	return 2
}

// Unit returns the identity map for states like x.
func (m Map) Unit(x *Node) []*Node {
	one, zero := OnesLike(x), ZerosLike(x)
	switch m {
	case AffineMap:
		return []*Node{one, zero}
	case MaxPlusMap:
		return []*Node{zero, BroadcastToShape(Infinity(x.Graph(), x.DType(), -1), x.Shape())}
	}
	half := MulScalar(one, 0.5)
	return []*Node{half, zero, zero, half}
}

// Compose returns the map "first, then last".
func (m Map) Compose(first, last []*Node) []*Node {
	l, r := first, last
	switch m {
	case AffineMap:
		return []*Node{Mul(r[0], l[0]), Add(Mul(r[0], l[1]), r[1])}
	case MaxPlusMap:
		return []*Node{Add(r[0], l[0]), Max(Add(r[0], l[1]), r[1])}
	}
	a := Add(Mul(r[0], l[0]), Mul(r[1], l[2]))
	b := Add(Mul(r[0], l[1]), Mul(r[1], l[3]))
	c := Add(Mul(r[2], l[0]), Mul(r[3], l[2]))
	d := Add(Mul(r[2], l[1]), Mul(r[3], l[3]))
	trace := Add(a, d)
	f := Div(ConstAs(trace, 1), trace)
	return []*Node{Mul(a, f), Mul(b, f), Mul(c, f), Mul(d, f)}
}

// Apply returns the map's value at x.
func (m Map) Apply(f []*Node, x *Node) *Node {
	switch m {
	case AffineMap:
		return Add(Mul(f[0], x), f[1])
	case MaxPlusMap:
		return Max(Add(x, f[0]), f[1])
	}
	return Div(Add(Mul(f[0], x), f[1]), Add(Mul(f[2], x), f[3]))
}

// tree composes maps along axis 0: out[t] = maps[0], then maps[1], ... then
// maps[t]. It joins neighbours, scans the pairs and fills in the places between
// them: 2 log₂ T levels of operations, about 2 T compositions.
func tree(compose func(first, last []*Node) []*Node, maps []*Node) []*Node {
	T := maps[0].Shape().Dim(0)
	switch {
	case T == 1:
		return maps
	case T%2 == 1:
		head := tree(compose, grad.Each(maps, func(x *Node) *Node { return cut(x, 0, T-1) }))
		last := compose(
			grad.Each(head, func(x *Node) *Node { return cut(x, T-2, T-1) }),
			grad.Each(maps, func(x *Node) *Node { return cut(x, T-1, T) }))
		return join(head, last)
	}
	half := func(i int) []*Node {
		return grad.Each(maps, func(x *Node) *Node {
			dims := x.Shape().Dimensions
			pairs := Reshape(x, append([]int{T / 2, 2}, dims[1:]...)...)
			return Squeeze(SliceAxis(pairs, 1, AxisRange(i, i+1)), 1)
		})
	}
	even, odd := half(0), half(1)
	odds := tree(compose, compose(even, odd))
	evens := grad.Each(even, func(x *Node) *Node { return cut(x, 0, 1) })
	if T > 2 {
		evens = join(evens, compose(
			grad.Each(odds, func(x *Node) *Node { return cut(x, 0, T/2-1) }),
			grad.Each(even, func(x *Node) *Node { return cut(x, 1, T/2) })))
	}
	out := make([]*Node, len(maps))
	for i := range out {
		out[i] = Reshape(Stack([]*Node{evens[i], odds[i]}, 1), maps[i].Shape().Dimensions...)
	}
	return out
}

// cut returns x[from:to] along axis 0.
func cut(x *Node, from, to int) *Node {
	if from == 0 && to == x.Shape().Dim(0) {
		return x
	}
	return SliceAxis(x, 0, AxisRange(from, to))
}

func join(a, b []*Node) []*Node {
	out := make([]*Node, len(a))
	for i := range a {
		out[i] = Concatenate([]*Node{a[i], b[i]}, 0)
	}
	return out
}
