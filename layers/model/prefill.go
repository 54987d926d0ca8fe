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
	h, after := m.trunk(s, form, tokens, states, nil)
	if T := tokens.Shape().Dim(1); !m.FromLast {
		h = SliceAxis(h, 1, AxisRange(T-1, T))
	}
	return m.finish(s, h), after
}
