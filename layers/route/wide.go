package route

// A control for parameters: no routing, but the layers that clvr would route
// from are widened by as many parameters as it would add, HV x D each, or
// (HV + D) rank. Package model does the widening.

import (
	"slices"

	"github.com/kalmarz/kalmarz/layers/option"
)

var wideKind = &Kind{
	Name: "wide", Paper: "2607.07953", Doc: "control: no routing, but wider blocks with as many parameters as clvr's",
	Options: option.Set{hostsOption(), rankOption()},
	New: func(s Layers, o option.Values) (Router, error) {
		layers, err := s.hosts(o)
		return &wide{layers: layers, s: s, o: o}, err
	},
}

// Widener is a router that asks for wider blocks instead of routing.
type Widener interface {
	// Extra is the number of parameters that a layer's block should gain.
	Extra(layer int) int
}

type wide struct {
	plain
	layers []int
	s      Layers
	o      option.Values
}

func (r *wide) Neutral() bool { return false }

func (r *wide) Extra(layer int) int {
	if !slices.Contains(r.layers, layer) {
		return 0
	}
	n := r.s.Hosts[layer].Heads * r.s.Hosts[layer].Value
	if rank := r.o.Int("rank"); rank > 0 {
		return (n + r.s.Width) * rank
	}
	return n * r.s.Width
}
