package route

// A control of arXiv 2607.07953 for what a projection adds by itself: the
// residual stream is projected onto itself, s = h, P [D, D].

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/option"
)

var selfKind = &Kind{
	Name: "self", Paper: "2607.07953", Doc: "control: adds a projection of the residual stream to itself",
	Options: append(option.Set{hostsOption(), rankOption()}, wayOptions()...),
	New: func(s Layers, o option.Values) (Router, error) {
		layers, err := s.hosts(o)
		return &hidden{layers: layers, o: o, signal: func(_ Site, h *Node) *Node { return h }}, err
	},
}
