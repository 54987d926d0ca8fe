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
func NewDelta(B, T, H, K, V int, dtype dtypes.DType, parts Parts) (Delta, error) {
	d := Delta{B: B, T: T, H: H, K: K, V: V, C: chunk, Parts: parts}
	var err error
	if d.DType, err = typeOf("delta", dtype); err != nil {
		return d, err
	}
	if d.DType == triton.F32 && d.Channels && !d.Erases {
		return d, fmt.Errorf("kernels: delta: float32, a decay a channel and nothing erased: a device made wrong gradients of queries of these; bfloat16 has kernels")
	}
	widths := []int{16, 32, 64, 128, 256}
	if d.DType == triton.F32 {
		widths = widths[:4] // a chunk of wider ones does not fit a multiprocessor
	}
	if !slices.Contains(widths, K) || !slices.Contains(widths, V) {
		return d, fmt.Errorf("kernels: delta: key width %d, value width %d: must be among %v for %s", K, V, widths, dtype)
	}
	d.Plan = d.plan()
	tokens := d.chunks() * d.C
	if n := B * H * max(tokens*max(K, V), d.chunks()*K*V); n > math.MaxInt32 || B*H*d.segments() > 65535 {
		return d, fmt.Errorf("kernels: delta: B=%d T=%d H=%d K=%d V=%d: an array would have 2^31 numbers or more, or there are more than 65535 heads and segments", B, T, H, K, V)
	}
	return d, nil
}

// Pays tells whether the kernels are the better choice where nobody chose.
func (d Delta) Pays() bool {
	if d.Channels && max(d.K, d.V) > 128 {
		return false
	}
	return d.DType == triton.BF16 && d.K >= 64 && d.V >= 64 && d.T >= 256
}

// Apply evaluates the problem in a graph of a backend with kernels. Shapes are
// those of delta.Inputs; g, rate and first are float32. e, g and rate are read where
// the problem has them. y is what would be written at rate 1.
func (d Delta) Apply(q, k, e, z, rate, g, first *graph.Node) (o, last, y *graph.Node) {
	xs := []*graph.Node{q, k, z, first}
	switch {
	case d.Channels: // prepare takes what is less than forgotten for that
		xs = append(xs, g)
	case d.Decays:
		xs = append(xs, graph.MaxScalar(g, forgotten))
	}
	if d.Erases && !d.Shared {
		xs = append(xs, e)
	}
	if d.Rated {
		xs = append(xs, rate)
	}
	forward := shared(d, "forward", d.Forward)
	out := grad.CustomOf(xs, func(xs []*graph.Node) []*graph.Node {
		grad.CountProducts(q.Graph(), d.products())
		return forward.call(xs...)
	}, func(xs, ys, dys []*graph.Node) []*graph.Node {
		for i := range 2 {
			if dys[i] == nil {
				dys[i] = graph.ZerosLike(ys[i])
			}
		}
		grad.CountProducts(q.Graph(), 2*d.products()) // of each product two gradients
		all := map[string]*graph.Node{"do": dys[0], "dlast": dys[1], "dy": dys[2]}
		seen := dys[2] != nil
		backward := shared(d, fmt.Sprint("backward ", seen), func() *Function { return d.Backward(seen) })
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

// products is the operations of a forward pass in chunks, without those of the
// inverse: T, P, A z, E S, Q S, P u and Kᵀu, of which a state that nothing is erased
// from has neither T nor A nor E S.
func (d Delta) products() float64 {
	within, across := 1, 2 // times C(K+V), and KV, for each token
	if d.Erases {
		within, across = 2, 3
	}
	tokens := float64(d.B * d.H * d.chunks() * d.C)
	return 2 * tokens * float64(within*d.C*(d.K+d.V)+across*d.K*d.V)
}
