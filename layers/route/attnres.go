package route

// Attention residuals over errors, a variant in the code of arXiv 2607.07953: a
// layer writes a convex combination of its own value and the errors of all lower
// layers of the delta rule,
//
//	ṽ_l = a_l v_l + Σ_j a_j e_j        a = softmax([q·v/rms(v) + b, q·e_j/rms(e_j)])
//
// per token and head, with q = 0 and b = 6 at first: nearly, not exactly, v.

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
	"github.com/kalmarz/kalmarz/layers/param"
)

var attnresKind = &Kind{
	Name: "attnres", Paper: "2607.07953", Doc: "the value becomes a softmax mixture of itself and all lower write errors",
	Options: append(option.Set{errorOption()}, wayOptions()[1]),
	New: func(s Layers, o option.Values) (Router, error) {
		layers, err := s.alike(errorName(o))
		return &attnres{cler{layers: layers, o: o}}, err
	},
}

type attnres struct{ cler }

func (r *attnres) Neutral() bool { return false }

func (r *attnres) Write(at Site, v *Node) *Node {
	place := slices.Index(r.layers, at.Layer)
	if place < 1 {
		return v
	}
	sources := []*Node{v}
	for _, i := range r.layers[:place] {
		sources = append(sources, detached(r.o, ConvertDType(at.Offers[i][errorName(r.o)], v.DType())))
	}
	H := v.Shape().Dim(2)
	s := scores(at, sources)
	own := Add(SliceAxis(s, 0, AxisElem(0)), Reshape(grad.Wide(at.Get("own", param.Vector, param.Constant(6), H)), 1, 1, 1, H))
	a := Softmax(Concatenate([]*Node{own, SliceAxis(s, 0, AxisRange(1))}, 0), 0)
	at.Show("gamma", func() *Node { return OneMinus(Squeeze(SliceAxis(a, 0, AxisElem(0)), 0)) })
	return weighted(a, sources)
}
