// Package attention evaluates causal softmax attention (arXiv 1706.03762) in forms
// that agree: a plain float64 reference, a graph that holds the scores of all
// pairs, and fused kernels.
//
//	o_t = Σ_s softmax_s(q_t·k_s/√K) v_s     s in (t-w, t]
//
// Head h of H query heads reads key head h J/H of J (arXiv 2305.13245).
//
// Shapes: B batch, T tokens, S >= T rows of keys and values, H and J heads, K width
// of a head, w window.
package attention

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/kernels"
)

// Inputs of one type.
type Inputs struct {
	Q      *Node // [B,T,H,K]
	K, V   *Node // [B,S,J,K]; the last T rows are the queries' tokens
	Window int   // keys seen, the own one included; 0 for all
	First  *Node // [B], the rows before it are empty; nil where none is
}

// Form says how attention is evaluated; all forms give the same values.
type Form struct {
	AllPairs bool // holds the scores of all pairs
	// Kernel asks for fused kernels wherever the backend has them and they can take
	// the problem. Where neither is asked for, they run where they are known to be
	// faster.
	Kernel bool
}

// Run returns o [B,T,H,K] in the type of the inputs.
func Run(in Inputs, form Form) *Node {
	if k, err := in.describe(); err == nil && (form.Kernel || !form.AllPairs && k.Pays()) {
		return k.Apply(in.Q, in.K, in.V)
	}
	return in.allPairs()
}

// KernelError says why there are no fused kernels for the problem; nil if there
// are.
func (in Inputs) KernelError() error {
	_, err := in.describe()
	return err
}

func (in Inputs) describe() (k kernels.Attention, err error) {
	if err := kernels.Missing(in.Q.Graph().Backend()); err != nil {
		return k, err
	}
	q, kv, v := in.Q.Shape(), in.K.Shape(), in.V.Shape()
	switch {
	case in.First != nil || kv.Dim(1) != q.Dim(1):
		return k, fmt.Errorf("kernels: attention: there are none for %d tokens on a cache, %d rows in all", q.Dim(1), kv.Dim(1))
	case v.Dim(3) != q.Dim(3):
		return k, fmt.Errorf("kernels: attention: values of width %d: must be as wide as keys, %d", v.Dim(3), q.Dim(3))
	case kv.DType != q.DType || v.DType != q.DType:
		return k, fmt.Errorf("kernels: attention: q, k and v are %s, %s and %s: must be of one type", q.DType, kv.DType, v.DType)
	}
	return kernels.NewAttention(q.Dim(0), q.Dim(1), q.Dim(2), kv.Dim(2), q.Dim(3), in.Window, in.scale(), q.DType)
}

func (in Inputs) scale() float64 { return 1 / math.Sqrt(float64(in.Q.Shape().Dim(3))) }

// allPairs makes the scores [B,H,T,S]; the heads that read one key head are rows of
// one product.
func (in Inputs) allPairs() *Node {
	d := in.Q.Shape().Dimensions
	B, T, H, K, S, J := d[0], d[1], d[2], d[3], in.K.Shape().Dim(1), in.K.Shape().Dim(2)
	q := Reshape(flat(MulScalar(in.Q, in.scale())), B*J, H/J*T, K)
	scores := Reshape(grad.Wide(grad.BMMNT(q, flat(in.K))), B, H, T, S)
	scores = Where(BroadcastToDims(in.seen(scores), B, H, T, S), scores, ConstAs(scores, -1e30))
	p := ConvertDType(Softmax(scores), in.Q.DType())
	o := grad.BMM(Reshape(p, B*J, H/J*T, S), flat(in.V))
	return TransposeAllAxes(Reshape(o, B, H, T, -1), 0, 2, 1, 3)
}

// seen tells which rows each token may see: [1,1,T,S], or [B,1,T,S] if some are
// empty.
func (in Inputs) seen(scores *Node) *Node {
	B, T, S := scores.Shape().Dim(0), scores.Shape().Dim(2), scores.Shape().Dim(3)
	shape := scores.Shape().Clone()
	shape.Dimensions = []int{1, 1, T, S}
	g := scores.Graph()
	row := Iota(g, shape, 3)
	own := AddScalar(Iota(g, shape, 2), float64(S-T)) // the token's own row
	seen := LessOrEqual(row, own)
	if in.Window > 0 {
		seen = And(seen, GreaterThan(row, AddScalar(own, -float64(in.Window))))
	}
	if in.First == nil {
		return seen
	}
	all := []int{B, 1, T, S}
	first := Reshape(ConvertDType(in.First, row.DType()), B, 1, 1, 1)
	return And(BroadcastToDims(seen, all...), GreaterOrEqual(BroadcastToDims(row, all...), BroadcastToDims(first, all...)))
}

// flat turns [B,T,H,D] into [BH,T,D].
func flat(x *Node) *Node {
	d := x.Shape().Dimensions
	return Reshape(TransposeAllAxes(x, 0, 2, 1, 3), d[0]*d[2], d[1], d[3])
}
