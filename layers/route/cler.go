package route

// CLER, arXiv 2607.07953: a layer also writes what the one before could not
// recall,
//
//	ṽ_l = v_l + Γ_l ρ(e_p)        Γ_l = 0 at first
//
// at the same token, with e the error u or r of the nearest lower layer of the
// delta rule, p; layers of other kinds between them carry it through, and the
// first has none. The layer's own error, which it hands on, is that of ṽ. Γ is
// one number, or one a head or channel, or from the value: σ(w·v + b) a head,
// which starts at σ(-3) and so not at the baseline. Instead of the nearest, e may
// be the mean over all lower ones or a weighted one,
//
//	e = Σ_j a_j e_j        a = softmax_j(q_l · e_j/rms(e_j))        q_l = 0 at first
//
// per head, over the H heads of width V that all layers must share.

import (
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
	"github.com/kalmarz/kalmarz/layers/param"
)

var clerKind = &Kind{
	Name: "cler", Paper: "2607.07953", Doc: "adds the previous delta layer's write error, times Γ, to the value",
	Options: append(option.Set{
		{Name: "gamma", Kind: option.Word, Default: "scalar", Choices: []string{"scalar", "head", "channel", "gate"}, Help: "Γ: one number a layer, one a head, one a channel, or a gate on the value"},
		{Name: "from", Kind: option.Word, Default: "nearest", Choices: []string{"nearest", "mean", "softmax"}, Help: "whose error: the nearest lower layer's, or the mean or a learned weighting of all lower ones"},
		errorOption(),
	}, wayOptions()...),
	New: func(s Layers, o option.Values) (Router, error) {
		layers, err := s.alike(errorName(o))
		return &cler{layers: layers, o: o}, err
	},
}

// alike lists the layers with errors, at least two, all of one shape.
func (s Layers) alike(name string) ([]int, error) {
	layers, err := s.correcting(name, 2)
	if err != nil {
		return nil, err
	}
	first := s.Hosts[layers[0]]
	for _, i := range layers {
		if h := s.Hosts[i]; h.Heads != first.Heads || h.Value != first.Value {
			return nil, fmt.Errorf("layer %d, %s, has values of %d x %d, layer %d, %s, of %d x %d: they must be alike",
				layers[0]+1, first.Mixer, first.Heads, first.Value, i+1, h.Mixer, h.Heads, h.Value)
		}
	}
	return layers, nil
}

type cler struct {
	plain
	layers []int
	o      option.Values
}

func (r *cler) Neutral() bool { return r.o.Word("gamma") != "gate" }

func (r *cler) Wants(layer int, name string) bool {
	return name == errorName(r.o) && slices.Contains(r.layers, layer) && layer != r.layers[len(r.layers)-1]
}

func (r *cler) Write(at Site, v *Node) *Node {
	place := slices.Index(r.layers, at.Layer)
	if place < 1 {
		return v
	}
	var errors []*Node
	for _, i := range r.layers[:place] {
		errors = append(errors, detached(r.o, ConvertDType(at.Offers[i][errorName(r.o)], v.DType())))
	}
	added := Mul(r.gamma(at, v), normed(r.o, r.source(at, errors)))
	at.Show("routed", func() *Node { return Squeeze(share(added, v), -1) })
	return Add(v, added)
}

// source is the one error that is routed, of those of all lower layers.
func (r *cler) source(at Site, errors []*Node) *Node {
	last := errors[len(errors)-1]
	if len(errors) == 1 {
		return last
	}
	switch r.o.Word("from") {
	case "mean":
		return MulScalar(sum(errors), 1/float64(len(errors)))
	case "softmax":
		a := Softmax(scores(at, errors), 0)
		return weighted(a, errors)
	}
	return last
}

// gamma is Γ, shaped to multiply v [B,T,H,V].
func (r *cler) gamma(at Site, v *Node) *Node {
	H, V := v.Shape().Dim(2), v.Shape().Dim(3)
	var dims, full []int
	switch r.o.Word("gamma") {
	case "gate":
		w := at.Get("gate_weight", param.Vector, param.Constant(0), V)
		b := at.Get("gate_bias", param.Vector, param.Constant(-3))
		x := ReduceSum(Mul(grad.Wide(v), Reshape(grad.Wide(w), 1, 1, 1, V)), -1)
		g := Sigmoid(Add(x, grad.Wide(b)))
		at.Show("gamma", func() *Node { return g })
		return ConvertDType(InsertAxes(g, -1), v.DType())
	case "scalar":
		full = []int{1, 1, 1, 1}
	case "head":
		dims, full = []int{H}, []int{1, 1, H, 1}
	default:
		dims, full = []int{H, V}, []int{1, 1, H, V}
	}
	g := at.Get("gamma", param.Vector, param.Constant(0), dims...)
	at.Show("gamma", func() *Node {
		return BroadcastToDims(Reshape(g, 1, 1, g.Shape().Size()), v.Shape().Dim(0), v.Shape().Dim(1), g.Shape().Size())
	})
	return ConvertDType(Reshape(g, full...), v.DType())
}
