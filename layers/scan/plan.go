package scan

import (
	"github.com/gomlx/compute"
)

// fill chooses what the plan leaves open for T tokens and a state of the given
// number of lanes (batch rows included).
func (p Plan) fill(be compute.Backend, lanes, T int) Plan {
	if p.Unroll <= 0 {
		p.Unroll = 16
	}
	if p.Chunks <= 0 {
		p.Chunks = 1
	}
	p.Chunks = min(p.Chunks, T)
	return p
}
