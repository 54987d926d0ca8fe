// Package ssm holds recurrences that carry a state by a scan with coefficients
// formed from the tokens: Mamba's selective scan, Longhorn and the mLSTM. Each
// takes a state and returns the next one, so the same function serves the whole
// sequence, a sequence in parts, and a single token.
//
// Shapes: B batch, T tokens, M channels, S states a channel; for the mLSTM H
// heads, K and V the widths of keys and values. Everything is computed, and the
// state kept, in float32 or wider.
package ssm

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/scan"
)

// sizes of a problem, and whose it is.
type sizes struct {
	who        string
	B, T, M, S int
}

// dims takes the sizes from the channels' input x [B,T,M] and one of the
// states' k [B,T,S].
func dims(who string, x, k *Node) sizes {
	if x == nil || k == nil || x.Rank() != 3 || k.Rank() != 3 || x.Shape().Size() == 0 || k.Shape().Size() == 0 {
		exceptions.Panicf("%s: inputs must be [B,T,M] and [B,T,S] with no empty axis", who)
	}
	d := sizes{who, x.Shape().Dim(0), x.Shape().Dim(1), x.Shape().Dim(2), k.Shape().Dim(2)}
	d.check("the first input over states", k, d.B, d.T, d.S)
	return d
}

func (d sizes) check(name string, x *Node, dims ...int) {
	if x == nil {
		exceptions.Panicf("%s: %s must be given", d.who, name)
	}
	if x.Shape().CheckDims(dims...) != nil {
		exceptions.Panicf("%s: %s is %s, expected dimensions %v", d.who, name, x.Shape(), dims)
	}
}

// run scans a cell with one state [B,M,S] and one output.
func (d sizes) run(cell *scan.Cell, plan scan.Plan, like *Node, x, w []*Node, state *Node) (y, last *Node) {
	tokens := make([]*Node, len(x))
	for i := range x {
		tokens[i] = grad.Wide(x[i])
	}
	ys, s := scan.Run(cell, tokens, w, []*Node{TransposeAllAxes(d.state(tokens[0], state), 0, 2, 1)}, plan)
	return ConvertDType(ys[0], like.DType()), TransposeAllAxes(s[0], 0, 2, 1)
}

// state is the state given, or zeros, in the dtype of wide tokens.
func (d sizes) state(token, state *Node) *Node {
	if state == nil {
		shape := grad.Wide(token).Shape().Clone()
		shape.Dimensions = []int{d.B, d.M, d.S}
		return Zeros(token.Graph(), shape)
	}
	d.check("state", state, d.B, d.M, d.S)
	return grad.Wide(state)
}
