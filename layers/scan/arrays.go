package scan

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/kalmarz/kalmarz/layers/grad"
)

// Affine returns x_t = a_t x_{t-1} + b_t for all t, [B,T,...] like a and b, from
// x0 [B,...], and the last of them [B,...].
func Affine(a, b, x0 *Node, plan Plan) (xs, last *Node) {
	return arrays(affineCell(), []*Node{a, b}, x0, plan)
}

// Moebius returns x_t = (a_t x_{t-1} + b_t) / (c_t x_{t-1} + d_t) for all t,
// [B,T,...] like the four entries, which must not be negative, from x0 [B,...],
// and the last of them [B,...].
func Moebius(a, b, c, d, x0 *Node, plan Plan) (xs, last *Node) {
	return arrays(moebiusCell(), []*Node{a, b, c, d}, x0, plan)
}

// MaxPlus returns x_t = max(x_{t-1} + a_t, b_t) for all t, [B,T,...] like a and
// b, from x0 [B,...], and the last of them [B,...]. Where both are equal the
// gradient goes to the first.
func MaxPlus(a, b, x0 *Node, plan Plan) (xs, last *Node) {
	return arrays(maxPlusCell(), []*Node{a, b}, x0, plan)
}

// Exclusive turns the states after each token [B,T,...] into those before it:
// x0 [B,...] and all but the last.
func Exclusive(xs, x0 *Node) *Node {
	first := InsertAxes(x0, 1)
	T := xs.Shape().Dim(1)
	if T == 1 {
		return first
	}
	return Concatenate([]*Node{first, grad.Cut(xs, 1, T-1, 1)[0]}, 1)
}

// arrays runs a cell whose tokens are whole states: all lanes are one axis.
func arrays(cell *Cell, maps []*Node, x0 *Node, plan Plan) (xs, last *Node) {
	dims := maps[0].Shape().Dimensions
	if len(dims) < 2 || maps[0].Shape().Size() == 0 {
		exceptions.Panicf("scan: maps %s, expected [B,T,...] with no empty axis", maps[0].Shape())
	}
	B, T := dims[0], dims[1]
	for i, m := range maps {
		if !m.Shape().Equal(maps[0].Shape()) {
			exceptions.Panicf("scan: entry %d of the maps is %s, entry 0 is %s: must be equal", i, m.Shape(), maps[0].Shape())
		}
	}
	if x0.Shape().CheckDims(append([]int{B}, dims[2:]...)...) != nil || x0.DType() != maps[0].DType() {
		exceptions.Panicf("scan: initial state %s, expected %s without its axis 1", x0.Shape(), maps[0].Shape())
	}
	plan.Kernel = false
	if (plan == Plan{}) {
		plan = arrayPlan(deviceOf(x0), cell.Levels[0].Map, T)
	}
	if plan.Tree && plan.Unroll <= 0 {
		plan.Unroll = T // the tokens are as large as the states: nothing to save
	}
	lanes := x0.Shape().Size() / B
	flat := grad.Each(maps, func(m *Node) *Node { return Reshape(m, B, T, lanes) })
	ys, s := Run(cell, flat, nil, []*Node{Reshape(x0, B, lanes)}, plan)
	return Reshape(ys[0], dims...), Reshape(s[0], x0.Shape().Dimensions...)
}

// arrayPlan chooses for tokens as large as the state. The pure-Go backend copies
// what a turn of a loop reads and writes: √T chunks of √T tokens need no loop up
// to T = 4096. XLA on a CPU is fastest with a tree where maps are two numbers.
func arrayPlan(d Device, m Map, T int) (p Plan) {
	switch {
	case d == PureGo:
		p.Chunks = min(64, max(1, int(math.Sqrt(float64(T)))))
		p.Unroll = 64
	case d == CPU:
		p.Tree = m != MoebiusMap
	}
	return p
}

func plain(m Map) *Cell {
	return &Cell{
		Levels: []Level{{m, func(_, _, x, _ []*Node) []*Node { return x }}},
		Read:   func(next, _, _ []*Node) []*Node { return next },
		Seed:   func(_, _, _, dy []*Node) []*Node { return dy },
	}
}

func affineCell() *Cell {
	c := plain(AffineMap)
	c.Pull = func(_, _, x, _, d []*Node) []*Node { return []*Node{Mul(x[0], d[0])} }
	c.Learn = func(s, _, _, _, d, _ []*Node) []*Node {
		return []*Node{Mul(s[0], d[0]), d[0]}
	}
	return c
}

// With D = c s + d and y the value, dy/ds = (a - c y) / D; as a - c y would
// cancel, it is taken as the determinant over D².
func moebiusCell() *Cell {
	c := plain(MoebiusMap)
	denominator := func(s, x []*Node) *Node { return Add(Mul(x[2], s[0]), x[3]) }
	c.Pull = func(s, _, x, _, d []*Node) []*Node {
		D := denominator(s, x)
		det := Sub(Mul(x[0], x[3]), Mul(x[1], x[2]))
		return []*Node{Div(Mul(det, d[0]), Mul(D, D))}
	}
	c.Learn = func(s, next, x, _, d, _ []*Node) []*Node {
		b := Div(d[0], denominator(s, x))
		D := Neg(Mul(b, next[0]))
		return []*Node{Mul(b, s[0]), b, Mul(D, s[0]), D}
	}
	return c
}

func maxPlusCell() *Cell {
	c := plain(MaxPlusMap)
	share := func(s, x, d []*Node) (toState, toB *Node) {
		first := GreaterOrEqual(Add(s[0], x[0]), x[1])
		zero := filled(d[0], 0)
		return Where(first, d[0], zero), Where(first, zero, d[0])
	}
	c.Pull = func(s, _, x, _, d []*Node) []*Node {
		toState, _ := share(s, x, d)
		return []*Node{toState}
	}
	c.Learn = func(s, _, x, _, d, _ []*Node) []*Node {
		toState, toB := share(s, x, d)
		return []*Node{toState, toB}
	}
	return c
}
