package delta

// Inside a chunk, by halves. A block of 2b tokens is two blocks of b; only
// pairs (r in the second, s in the first) are new, and their decay splits at
// the boundary m between the halves:
//
//	exp(G_r - G_s) = exp(Σ_{m<i<=r} g_i) exp(Σ_{s<i<=m} g_i)
//
// Both exponents are sums of log-decays, hence never positive: nothing
// overflows however strong the decay is, nothing has to be masked before the
// exponential, and no difference of long sums loses digits. With a decay per
// key channel both factors go into one product of b x K matrices, where the
// direct form needs an exponential for each pair and channel.
//
// The inverse grows the same way:
//
//	[[I+T₁, 0], [T₂₁, I+T₂]]⁻¹ = [[A₁, 0], [-A₂ T₂₁ A₁, A₂]]
//
// which is forward substitution by blocks. The product (I-T)(I+T²)(I+T⁴)… of
// the same cost is not used: for repeated keys its terms grow to 1e10 before
// they cancel.

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
)

// inner is what the tokens of a block do to each other. While it grows, n
// blocks of b tokens are [n,b,·]; at the end n = R and b = C.
type inner struct {
	inverse *Node // (I+T)⁻¹ [n,b,b], or nil without erase
	p       *Node // P [n,b,b]
	decay   sums  // of log-decays, empty without decay
}

// within takes q, k [R,C,K], e likewise or nil, g [R,C,1 or K] or nil. Blocks
// of base tokens are computed directly, larger ones by halves.
func within(q, k, e, g *Node, base int) inner {
	C := q.Shape().Dim(1)
	base = min(base, C)
	c := direct(q, k, e, g, base)
	for b := base; b < C; b *= 2 {
		c = c.double(q, k, e, b)
	}
	return c
}

// direct computes blocks of b tokens from all their pairs.
func direct(q, k, e, g *Node, b int) inner {
	K := q.Shape().Dim(2)
	q, k = Reshape(q, -1, b, K), Reshape(k, -1, b, K)
	rows := q
	if e != nil { // one product serves the queries and the erase vectors
		rows = Concatenate([]*Node{q, Reshape(e, -1, b, K)}, 1)
	}
	var c inner
	var pairs *Node // exp(G_r - G_s) [n,b,b,1 or K]
	if g != nil {
		var between *Node
		c.decay, between = pairSums(g, b)
		pairs = Exp(between)
	}
	var products *Node
	if pairs != nil && pairs.Shape().Dim(3) > 1 {
		if e != nil {
			pairs = Concatenate([]*Node{pairs, pairs}, 1)
		}
		weighted := Mul(pairs, InsertAxes(grad.Wide(k), 1))
		products = ReduceSum(Mul(weighted, InsertAxes(grad.Wide(rows), 2)), -1)
	} else {
		products = grad.WideBMM(grad.NT, rows, k)
		if pairs != nil {
			pairs = Reshape(pairs, -1, b, b)
			if e != nil {
				pairs = Concatenate([]*Node{pairs, pairs}, 1)
			}
			products = Mul(products, pairs)
		}
	}
	if e == nil {
		c.p = lower(products, 0)
		return c
	}
	parts := grad.Cut(products, 1, b, b)
	c.p, c.inverse = lower(parts[0], 0), unitInverse(lower(parts[1], -1))
	return c
}

// double joins neighbouring blocks of b tokens.
func (c inner) double(q, k, e *Node, b int) inner {
	var out inner
	_, rows := halves(q, b)
	keys, _ := halves(k, b)
	if e != nil {
		_, e2 := halves(e, b)
		rows = Concatenate([]*Node{rows, e2}, 1)
	}
	var pairs *Node // decay of each pair, if it is one number
	if c.decay.since != nil {
		_, since := neighbours(c.decay.since)
		until, _ := neighbours(c.decay.until)
		if since.Shape().Dim(2) == 1 {
			pairs = Exp(Add(since, Reshape(until, -1, 1, b)))
			if e != nil {
				pairs = Concatenate([]*Node{pairs, pairs}, 1)
			}
		} else {
			if e != nil {
				since = Concatenate([]*Node{since, since}, 1)
			}
			rows, keys = decayed(rows, since), decayed(keys, until)
		}
		out.decay = c.decay.double()
	}
	products := grad.WideBMM(grad.NT, rows, keys)
	if pairs != nil {
		products = Mul(products, pairs)
	}
	p1, p2 := neighbours(c.p)
	if e == nil {
		out.p = lowerBlocks(p1, products, p2)
		return out
	}
	parts := grad.Cut(products, 1, b, b)
	out.p = lowerBlocks(p1, parts[0], p2)
	a1, a2 := neighbours(c.inverse)
	out.inverse = lowerBlocks(a1, Neg(grad.BMM(grad.BMM(a2, parts[1]), a1)), a2)
	return out
}

// halves cuts x [R,C,D] into the first and second b of every 2b tokens.
func halves(x *Node, b int) (first, second *Node) {
	parts := grad.Cut(Reshape(x, -1, 2*b, x.Shape().Dim(2)), 1, b, b)
	return parts[0], parts[1]
}

// neighbours separates even and odd blocks of x [n,...].
func neighbours(x *Node) (even, odd *Node) {
	rest := x.Shape().Dimensions[1:]
	parts := grad.Cut(Reshape(x, append([]int{-1, 2}, rest...)...), 1, 1, 1)
	return Reshape(parts[0], append([]int{-1}, rest...)...), Reshape(parts[1], append([]int{-1}, rest...)...)
}

// lowerBlocks returns [[a, 0], [b, c]] on axes 1 and 2.
func lowerBlocks(a, b, c *Node) *Node {
	return Concatenate([]*Node{
		Concatenate([]*Node{a, ZerosLike(a)}, 2),
		Concatenate([]*Node{b, c}, 2),
	}, 1)
}

// sinceEntry decays x [R,C,K] from the chunk's start to its row.
func (c inner) sinceEntry(x *Node) *Node { return decayed(x, c.decay.since) }

// untilExit decays x [R,C,K] from its row to the chunk's end.
func (c inner) untilExit(x *Node) *Node { return decayed(x, c.decay.until) }

// total returns a chunk's whole decay [R,1 or K,1], or nil.
func (c inner) total() *Node {
	if c.decay.total == nil {
		return nil
	}
	return Exp(Reshape(c.decay.total, c.decay.total.Shape().Dim(0), -1, 1))
}

func decayed(x, g *Node) *Node {
	if g == nil {
		return x
	}
	return ConvertDType(Mul(grad.Wide(x), Exp(g)), x.DType())
}
