package model

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/param"
)

// Prefill reads tokens [B,T] and returns the logits of the last position alone,
// [B,1,V], and the layers' states, from which decoding goes on. The head never
// sees the other positions, whose logits would outgrow all else where T and V
// are large. A model that answers from the last vector returns all of them.
func (m *Model) Prefill(s param.Scope, form delta.Form, tokens *Node, states []mixer.State) (*Node, []mixer.State) {
	p := m.pass(nil)
	h, after := m.trunk(s, form, tokens, states, p)
	if !m.FromLast {
		p.each(lastToken)
		h = lastToken(h)
	}
	return m.finish(s, h, p), after
}
