package lab

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
)

// attentionRows are of softmax attention as the mixer evaluates it, with the
// scores of all pairs in memory.
func attentionRows(o option.Values, _ bool) (out []benchCase, err error) {
	Ts, err := lengths(o.Word("T"), "")
	B, H, D, dtype := o.Int("B"), o.Int("H"), o.Int("D"), benchDType(o)
	for _, T := range Ts {
		row := BenchRow{Bench: "attention", What: "softmax", Form: "all pairs", DType: o.Word("dtype"), Shape: Shape{"B": B, "T": T, "H": H, "D": D}, Tokens: B * T}
		out = append(out, operatorRows(row, o, operator{
			inputs: func(g *Graph) []*Node {
				return grad.Each([]*Node{wave(g, 0.31, B*H, T, D), wave(g, 0.77, B*H, T, D), wave(g, 0.53, B*H, T, D)}, func(x *Node) *Node { return ConvertDType(x, dtype) })
			},
			apply: func(x []*Node) []*Node { return []*Node{attend(x[0], x[1], x[2])} },
		})...)
	}
	return out, err
}

// attend is causal softmax attention over q, k, v [BH,T,D].
func attend(q, k, v *Node) *Node {
	scores := grad.Wide(grad.BMMNT(q, k))
	shape := scores.Shape()
	seen := BroadcastToDims(InsertAxes(LowerTriangular(q.Graph(), shape.Dim(1)), 0), shape.Dimensions...)
	scores = Where(seen, MulScalar(scores, 1/math.Sqrt(float64(q.Shape().Dim(2)))), ConstAs(scores, -1e30))
	return grad.BMM(ConvertDType(Softmax(scores), q.DType()), v)
}
