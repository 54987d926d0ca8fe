package model

// The decoder of an autoencoder, after MAD (arXiv 2403.17844): every position p
// is answered from z, what the blocks leave at the last position, and a fixed
// code of p alone. So all that is known of a sequence must pass through z.
//
//	u_p = z + code_p
//	logits_p = W norm(gelu(W₂ norm(gelu(W₁ norm(u_p) + b₁)) + b₂))
//	code_p[i] = sin(p w_i), code_p[D/2+i] = cos(p w_i), w_i = 10⁴^(-i/(D/2-1))
//
// Shapes: B batch, T tokens, D width, V classes; z [B,1,D], code [1,T,D].

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/param"
)

// decode maps what the blocks leave [B,T,D] to logits [B,T,V].
func (m *Model) decode(s param.Scope, embedding, h *Node) *Node {
	T := h.Shape().Dim(1)
	u := Slice(h, AxisRange(), AxisElem(T-1), AxisRange())
	u = Add(BroadcastToShape(u, h.Shape()), ConvertDType(BroadcastToShape(positionCode(h.Graph(), T, m.Width), h.Shape()), h.DType()))
	for i := range 2 {
		layer := s.In(fmt.Sprintf("decoder/%d", i))
		w := layer.Projection("w", false, m.Width, m.Width)
		b := layer.Get("b", param.Vector, param.Constant(0), m.Width)
		u = gelu(Add(grad.ProjectWide(m.norm(layer, "norm", u), w), ExpandLeftToRank(b, 3)))
	}
	return m.head(s, embedding, m.norm(s, "norm", u))
}

// positionCode is [1,T,D]: sines in the first half of D, cosines in the second.
func positionCode(g *Graph, T, D int) *Node {
	half := D / 2
	code := make([][][]float64, 1)
	code[0] = make([][]float64, T)
	for p := range T {
		row := make([]float64, D)
		for i := range half {
			angle := float64(p) * math.Pow(1e4, -float64(i)/float64(max(1, half-1)))
			row[i], row[half+i] = math.Sin(angle), math.Cos(angle)
		}
		code[0][p] = row
	}
	return Const(g, code)
}

// gelu is x Φ(x) with the normal distribution's Φ.
func gelu(x *Node) *Node {
	return Mul(x, MulScalar(AddScalar(Erf(MulScalar(x, 1/math.Sqrt2)), 1), 0.5))
}
