package route

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/option"
)

var clerHKind = &Kind{
	Name: "cler-h", Paper: "2607.07953", Doc: "adds a projection of each delta layer's write error to the residual stream",
	Options: append(option.Set{errorOption(), rankOption()}, wayOptions()...),
	New: func(s Layers, o option.Values) (Router, error) {
		name := errorName(o)
		layers, err := s.correcting(name, 1)
		return &hidden{layers: layers, wants: []string{name}, o: o, signal: func(at Site, _ *Node) *Node { return offered(at, name) }}, err
	},
}
