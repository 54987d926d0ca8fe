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

// NewAttention describes a problem as kernels see it, or says why there are none: H
// query heads and J key heads of width K, a window or 0 for none.
func NewAttention(B, T, H, J, K, window int, scale float64, dtype dtypes.DType) (Attention, error) {
	a := Attention{B: B, T: T, H: H, J: J, K: K, Window: window, Scale: scale}
	var err error
	if a.DType, err = typeOf("attention", dtype); err != nil {
		return a, err
	}
	widths := []int{16, 32, 64, 128, 256}
	if a.DType == triton.F32 {
		widths = widths[:4]
	}
	switch {
	case !slices.Contains(widths, K):
		return a, fmt.Errorf("kernels: attention: width %d: must be among %v for %s", K, widths, dtype)
	case J < 1 || H%J != 0:
		return a, fmt.Errorf("kernels: attention: %d key heads: must divide the %d query heads", J, H)
	case window < 0 || !(scale > 0):
		return a, fmt.Errorf("kernels: attention: window %d, scale %g: must be at least 0, and above 0", window, scale)
	case B*H*T*K > math.MaxInt32 || B*H > 65535:
		return a, fmt.Errorf("kernels: attention: B=%d T=%d H=%d K=%d: an array would have 2^31 numbers or more, or there are more than 65535 heads", B, T, H, K)
	}
	if window >= T {
		a.Window = 0
	}
	a.Plan = attentionPlan(K, a.DType)
	return a, nil
}

// Pays tells whether the kernels are the better choice where nobody chose.
func (a Attention) Pays() bool {
	return a.DType == triton.BF16 && a.K >= 64 && a.T >= 256
}

// Apply evaluates the problem in a graph of a backend with kernels: q [B,T,H,K] and
// k, v [B,T,J,K] to o [B,T,H,K].
func (a Attention) Apply(q, k, v *graph.Node) *graph.Node {
	forward := shared(a, "forward", a.Forward)
	return grad.CustomOf([]*graph.Node{q, k, v}, func(xs []*graph.Node) []*graph.Node {
		grad.CountProducts(q.Graph(), 2*a.product())
		return forward.call(xs...)
	}, func(xs, ys, dys []*graph.Node) []*graph.Node {
		grad.CountProducts(q.Graph(), 5*a.product()) // the scores again, and two for each of the two
		return shared(a, "backward", a.Backward).call(xs[0], xs[1], xs[2], ys[0], dys[0], ys[1])
	})[0]
}

// product is the operations of one product over all pairs that are seen: q·k, or
// of the weights with v.
func (a Attention) product() float64 {
	seen := a.T
	if a.Window > 0 {
		seen = a.Window
	}
	pairs := float64(seen)*float64(a.T) - float64(seen)*float64(seen-1)/2
	return 2 * float64(a.B*a.H) * pairs * float64(a.K)
}
