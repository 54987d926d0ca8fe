package scan

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// Products and sums for cells whose state is [..,S,M]: S states for each of M
// channels, channels last. All of them may be used in a loop's body. A compiler
// fuses them with what stands around them, and sums by halves, in full
// precision; the pure-Go backend is several times faster at products of
// matrices than at broadcasts and sums.

// Outer returns s ⊗ m: [..,S], [..,M] -> [..,S,M].
func Outer(s, m *Node) *Node {
	s, m = InsertAxes(s, -1), InsertAxes(m, -2)
	if deviceOf(s) == PureGo {
		return matrices(s, m)
	}
	return Mul(s, m)
}

// AllStates repeats x [..,M] for all states of like [..,S,M], at least where
// broadcasting is slow.
func AllStates(x, like *Node) *Node {
	if deviceOf(x) != PureGo {
		return InsertAxes(x, -2)
	}
	dims := append([]int{}, x.Shape().Dimensions...)
	dims[len(dims)-1] = like.Shape().Dim(-2)
	return Outer(BroadcastToDims(ConstAs(x, 1), dims...), x)
}

// SumStates returns Σ_s x y: [..,S,M], [..,S] -> [..,M]; nil y stands for ones.
func SumStates(x, y *Node) *Node {
	if y == nil {
		y = BroadcastToDims(ConstAs(x, 1), x.Shape().Dimensions[:x.Rank()-1]...)
	}
	if deviceOf(x) == GPU {
		return Squeeze(fold(Mul(x, InsertAxes(y, -1)), x.Rank()-2, 1), -2)
	}
	return Squeeze(matrices(InsertAxes(y, -2), x), -2)
}

// Term is scale ∘ Σ_m x y, with scale [..,S] (nil for 1), x [..,S,M], y [..,M].
type Term struct{ Scale, X, Y *Node }

// SumChannels returns the sum of the terms, [..,S]; or, where a loop's body has
// no full sums, partial sums along one more axis, which Cell.Learn may return
// as they are.
func SumChannels(terms ...Term) *Node {
	var sum *Node
	for _, t := range terms {
		var x *Node
		if deviceOf(t.X) != GPU {
			x = Squeeze(matrices(t.X, InsertAxes(t.Y, -1)), -1)
			if t.Scale != nil {
				x = Mul(t.Scale, x)
			}
		} else {
			y := InsertAxes(t.Y, -2)
			if t.Scale != nil {
				y = Mul(InsertAxes(t.Scale, -1), y)
			}
			x = Mul(t.X, y)
		}
		if sum != nil {
			x = Add(sum, x)
		}
		sum = x
	}
	if deviceOf(sum) != GPU {
		return sum
	}
	// As many partial sums as make [..,S] no wider than [..,M].
	S, M := sum.Shape().Dim(-2), sum.Shape().Dim(-1)
	return fold(sum, sum.Rank()-1, max(1, M/S))
}

// matrices multiplies over the last two axes; all others are batch axes.
func matrices(x, y *Node) *Node {
	n := x.Rank() - 2
	batch := make([]int, n)
	for i := range batch {
		batch[i] = i
	}
	return DotGeneral(x, []int{n + 1}, batch, y, []int{n}, batch)
}

// fold sums along an axis, by halves, until at most n are left.
func fold(x *Node, axis, n int) *Node {
	for length := x.Shape().Dim(axis); length > n; length = x.Shape().Dim(axis) {
		half := length / 2
		part := func(from, to int) *Node { return SliceAxis(x, axis, AxisRange(from, to)) }
		sum := Add(part(0, half), part(half, 2*half))
		if length%2 == 1 {
			sum = Concatenate([]*Node{sum, part(2*half, length)}, axis)
		}
		x = sum
	}
	return x
}
