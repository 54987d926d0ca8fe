package route

// A control of arXiv 2607.07953: error and value together, s = [e; v], through
// one projection of twice the height. It contains cler-h and clvr.

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/option"
)

var bothKind = &Kind{
	Name: "both", Paper: "2607.07953", Doc: "adds a projection of error and value together to the residual stream",
	Options: append(option.Set{errorOption(), rankOption()}, wayOptions()...),
	New: func(s Layers, o option.Values) (Router, error) {
		name := errorName(o)
		layers, err := s.correcting(name, 1)
		return &hidden{layers: layers, wants: []string{name, "v"}, o: o, signal: func(at Site, _ *Node) *Node {
			e, v := at.Offers[at.Layer][name], at.Offers[at.Layer]["v"]
			return Reshape(Concatenate([]*Node{e, v}, -1), e.Shape().Dim(0), e.Shape().Dim(1), -1)
		}}, err
	},
}
