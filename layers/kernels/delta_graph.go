package kernels

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/triton"
)

// chunk is the chunk length of the kernels in graphs.
const chunk = 64

// forgotten is a log-decay after which float32 holds nothing of a state. Sums of
// it inside a chunk keep the digits of the decays beside it.
const forgotten = -128

// NewDelta describes a problem as kernels see it, or says why there are none.
func NewDelta(B, T, H, K, V int, dtype dtypes.DType, erases, decays bool) (Delta, error) {
	d := Delta{B: B, T: T, H: H, K: K, V: V, C: chunk, Erases: erases, Decays: decays, Plan: plan(K)}
	switch dtype {
	case dtypes.BFloat16:
		d.DType = triton.BF16
	case dtypes.Float32:
		d.DType = triton.F32
	default:
		return d, fmt.Errorf("kernels: delta: %s: must be bfloat16 or float32", dtype)
	}
	widths := []int{16, 32, 64, 128, 256}
	if !slices.Contains(widths, K) || !slices.Contains(widths, V) {
		return d, fmt.Errorf("kernels: delta: key width %d, value width %d: must be among %v", K, V, widths)
	}
	tokens := d.chunks() * d.C
	if n := B * H * max(tokens*max(K, V), d.chunks()*K*V); n > math.MaxInt32 || B*H > 65535 {
		return d, fmt.Errorf("kernels: delta: B=%d T=%d H=%d K=%d V=%d: an array would have 2^31 numbers or more, or there are more than 65535 heads", B, T, H, K, V)
	}
	return d, nil
}

// Pays tells whether the kernels are the better choice where nobody chose.
func (d Delta) Pays() bool {
	return d.DType == triton.BF16 && d.K >= 64 && d.V >= 64 && d.T >= 256
}

// Apply evaluates the problem in a graph of a backend with kernels. Shapes are
// those of delta.Inputs; g is float32 [B,T,H], first float32 [B,H,K,V]; e and g
// are nil where the problem has none.
func (d Delta) Apply(q, k, e, z, g, first *graph.Node) (o, last, u *graph.Node) {
	xs := []*graph.Node{q, k, z, first}
	if d.Decays {
		xs = append(xs, graph.MaxScalar(g, forgotten))
	}
	if d.Erases {
		xs = append(xs, e)
	}
	forward, backward := d.Forward(), d.Backward()
	out := grad.Custom(xs, func(xs []*graph.Node) []*graph.Node {
		return forward.call(xs...)
	}, func(xs, ys, dys []*graph.Node) []*graph.Node {
		all := map[string]*graph.Node{"do": dys[0], "dlast": dys[1], "du": dys[2]}
		for i, x := range xs {
			all[forward.In[i].Name] = x
		}
		for i, y := range ys {
			all[forward.Out[i].Name] = y
		}
		var in []*graph.Node
		for _, a := range backward.In {
			in = append(in, all[a.Name])
		}
		return backward.call(in...)
	})
	return out[0], out[1], out[2]
}
