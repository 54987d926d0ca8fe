package route

// A control of arXiv 2607.07953: the error says where to route, the value what,
//
//	s = g v        g = σ(a ‖e‖/(‖v‖ + 1e-6) + b) per token and head, a = 1, b = 0 at first

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
	"github.com/kalmarz/kalmarz/layers/param"
)

var gatedKind = &Kind{
	Name: "gated", Paper: "2607.07953", Doc: "clvr whose values are gated by the size of the write error",
	Options: append(option.Set{errorOption(), rankOption()}, wayOptions()...),
	New: func(s Layers, o option.Values) (Router, error) {
		name := errorName(o)
		layers, err := s.correcting(name, 1)
		return &hidden{layers: layers, wants: []string{name, "v"}, o: o, signal: func(at Site, _ *Node) *Node {
			e, v := grad.Wide(at.Offers[at.Layer][name]), grad.Wide(at.Offers[at.Layer]["v"])
			a := grad.Wide(at.Get("gate_scale", param.Vector, param.Constant(1)))
			b := grad.Wide(at.Get("gate_bias", param.Vector, param.Constant(0)))
			// The root has no slope at 0, where a first token's value or error may be.
			norm := func(x *Node) *Node { return Sqrt(MaxScalar(grad.SumSquares(x), 1e-24)) }
			g := Sigmoid(Add(Mul(a, Div(norm(e), AddScalar(norm(v), epsilon))), b))
			at.Show("gate", func() *Node { return Squeeze(g, -1) })
			v = Mul(g, v)
			return Reshape(v, v.Shape().Dim(0), v.Shape().Dim(1), -1)
		}}, err
	},
}
