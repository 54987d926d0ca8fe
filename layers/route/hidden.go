package route

// Routing into the residual stream, arXiv 2607.07953: after the whole block of
// layer l, mixer and MLP, what the layer wrote is added through a projection,
//
//	h_l <- h_l + P_l s_l        P_l [HV, D] = 0 at first
//
// so that it reaches all later layers and the head. The routers differ in s
// alone. With a rank, P = A B: A [HV, rank] starts as any projection, B at 0.

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
	"github.com/kalmarz/kalmarz/layers/param"
)

func rankOption() option.Option {
	return option.Option{Name: "rank", Kind: option.Int, Default: 0, Range: [2]float64{0, 1 << 20}, Help: "rank of the projection into the residual stream; 0 = full"}
}

// hidden adds the projection of a signal to the residual stream.
type hidden struct {
	plain
	layers []int
	wants  []string
	o      option.Values
	signal func(at Site, h *Node) *Node // [B,T,·]
}

func (r *hidden) Wants(layer int, name string) bool {
	return slices.Contains(r.wants, name) && slices.Contains(r.layers, layer)
}

func (r *hidden) Leave(at Site, h *Node) *Node {
	if !slices.Contains(r.layers, at.Layer) {
		return h
	}
	s := ConvertDType(normed(r.o, r.signal(r.detach(at), detached(r.o, h))), h.DType())
	n, D := s.Shape().Dim(-1), h.Shape().Dim(-1)
	if rank := r.o.Int("rank"); rank > 0 {
		s = grad.Project(s, ConvertDType(at.Projection("down", false, n, rank), h.DType()))
		n = rank
	}
	added := grad.Project(s, ConvertDType(at.Get("up", param.Matrix, param.Constant(0), n, D), h.DType()))
	at.Show("routed", func() *Node { return share(added, h) })
	return Add(h, added)
}

// detach is the site with the layer's offers detached.
func (r *hidden) detach(at Site) Site {
	own := map[string]*Node{}
	for name, x := range at.Offers[at.Layer] {
		own[name] = detached(r.o, x)
	}
	at.Offers = append(slices.Clone(at.Offers[:at.Layer]), own)
	return at
}

// offered is what the layer itself offers, its heads joined: [B,T,HV].
func offered(at Site, name string) *Node {
	x := at.Offers[at.Layer][name]
	return Reshape(x, x.Shape().Dim(0), x.Shape().Dim(1), -1)
}
