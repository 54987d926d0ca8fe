package mixer

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
)

// ApplyPadded runs a layer from the start of a sequence on rows that hold
// padding anywhere: mask [B,T] is 1 at tokens and 0 at pads. Tokens get the
// outputs that they would get without the pads, whatever those hold; pads get
// zeros, and no gradient.
//
// Tokens are moved to the front of their row, in order, and their outputs back:
// whatever a mixer does at a pad then comes after all tokens, where causality
// keeps it from them. That serves convolutions, positions and norms alike,
// which a mask inside each of them would not. No state is returned: it has seen
// the pads.
func ApplyPadded(l Layer, c Context, x, mask *Node) *Node {
	pack := packing(ConvertDType(mask, x.DType()))
	clean := Mul(x, InsertAxes(ConvertDType(mask, x.DType()), -1))
	y, _ := Apply(l, c, grad.BMM(pack, clean), nil)
	return grad.BMMTN(pack, y)
}

// packing returns the 0/1 matrices [B,T,T] that move tokens to the front: row j
// picks the token that has j others before it.
func packing(mask *Node) *Node {
	g, B, T := mask.Graph(), mask.Shape().Dim(0), mask.Shape().Dim(1)
	earlier := LessThan(Iota(g, shapeLike(mask, T, T), 1), Iota(g, shapeLike(mask, T, T), 0)) // [token, other]
	before := ReduceSum(Mul(InsertAxes(mask, 1), InsertAxes(ConvertDType(earlier, mask.DType()), 0)), -1)
	place := Iota(g, shapeLike(mask, B, T, T), 1)
	picked := ConvertDType(Equal(place, BroadcastToDims(InsertAxes(before, 1), B, T, T)), mask.DType())
	return StopGradient(Mul(picked, InsertAxes(mask, 1)))
}
