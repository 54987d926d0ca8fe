package delta

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// sums are the partial sums of log-decays in n blocks of b tokens; W is 1 or
// the number of key channels. They are built by additions alone, so their
// relative error stays at rounding however the decays vary.
type sums struct {
	since *Node // Σ_{i<=r} g_i [n,b,W]
	until *Node // Σ_{i>r} g_i [n,b,W]
	total *Node // [n,1,W]
}

// tokenSums are the sums of single tokens, g [R,C,W].
func tokenSums(g *Node) sums {
	g = Reshape(g, -1, 1, g.Shape().Dim(2))
	return sums{since: g, until: ZerosLike(g), total: g}
}

// double joins neighbouring blocks.
func (s sums) double() sums {
	since1, since2 := neighbours(s.since)
	until1, until2 := neighbours(s.until)
	total1, total2 := neighbours(s.total)
	return sums{
		since: Concatenate([]*Node{since1, Add(since2, total1)}, 1),
		until: Concatenate([]*Node{Add(until1, total2), until2}, 1),
		total: Add(total1, total2),
	}
}

// pairSums returns the sums of blocks of b tokens and, for each pair s <= r in
// a block, Σ_{s<i<=r} g_i [n,b,b,W]; it is 0 where s > r.
func pairSums(g *Node, b int) (s sums, between *Node) {
	s = tokenSums(g)
	between = InsertAxes(s.until, 1)
	for i := 1; i < b; i *= 2 {
		_, since := neighbours(s.since)
		until, _ := neighbours(s.until)
		first, second := neighbours(between)
		between = lowerBlocks(first, Add(InsertAxes(since, 2), InsertAxes(until, 1)), second)
		s = s.double()
	}
	return s, between
}
