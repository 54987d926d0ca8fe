package route

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/option"
)

var clvrKind = &Kind{
	Name: "clvr", Paper: "2607.07953", Doc: "adds a projection of each delta layer's value to the residual stream",
	Options: append(option.Set{hostsOption(), rankOption()}, wayOptions()...),
	New: func(s Layers, o option.Values) (Router, error) {
		layers, err := s.hosts(o)
		return &hidden{layers: layers, wants: []string{"v"}, o: o, signal: func(at Site, _ *Node) *Node { return offered(at, "v") }}, err
	},
}
