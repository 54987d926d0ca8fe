package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	gomodel "github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/param"
)

// Trace is one quantity of one layer over the tokens of a sequence.
type Trace struct {
	Layer int    // from 0
	Mixer string // its name
	Name  string // what the layer offers, or norm/SLOT for the state's norm
	Width int    // heads or channels
	Value []float64
}

// Probe feeds a sequence token by token to a model with the parameters of set,
// and returns what its layers offer at each token, a number a head or channel
// [T, Width], and the norm of each head's or channel's part of each array of their
// states, convolutions' windows excepted. Written values are left out.
func (m *Model) Probe(be compute.Backend, set *param.Set, tokens []int32) (traces []Trace, err error) {
	if len(tokens) == 0 {
		return nil, fmt.Errorf("model: no tokens to probe")
	}
	for i, id := range tokens {
		if id < 0 || int(id) >= m.Vocab {
			return nil, fmt.Errorf("model: token %d is %d: must be in [0, %d)", i, id, m.Vocab)
		}
	}
	slots := m.Slots(len(tokens))
	exec, err := gomodel.NewExec(be, set.Store, func(_ *gomodel.Scope, in []*Node) []*Node {
		traces = nil
		states := unpack(slots, in[1:])
		var values []*Node
		see := func(layer int, name string, x *Node) {
			x = ConvertDType(Reshape(x, -1), dtypes.Float64)
			traces = append(traces, Trace{Layer: layer, Mixer: m.Layers[layer].Mixer, Name: name, Width: x.Shape().Size()})
			values = append(values, x)
		}
		y, after := m.Watch(set.At(in[0].Graph()), delta.Form{}, in[0], states, func(layer int) func(string, *Node) {
			offered := map[string]bool{}
			return func(name string, x *Node) {
				if x.Rank() == 3 && !offered[name] && name != "v" { // a number a head or channel
					offered[name] = true
					see(layer, name, x)
				}
			}
		})
		for i := range slots {
			for _, s := range slots[i] {
				if x := after[i][s.Name]; len(s.Dims) > 1 && !strings.HasSuffix(s.Name, "conv") {
					for x.Rank() > 3 {
						x = Reshape(x, append(slices.Clone(x.Shape().Dimensions[:x.Rank()-2]), -1)...)
					}
					see(i, "norm/"+s.Name, Sqrt(ReduceSum(Square(x), -1)))
				}
			}
		}
		// The logits come last in the graph: GoMLX's own backend fails on outputs
		// that lie before another result of the same loop.
		return append(append(values, pack(slots, after)...), y)
	})
	if err != nil {
		return nil, err
	}
	state, err := m.start(be, set, slots)
	if err != nil {
		return nil, err
	}
	var all [][]float64
	for i, id := range tokens {
		out, err := exec.Call(append([]any{tensors.FromFlatDataAndDimensions([]int32{id}, 1, 1)}, state...)...)
		if err != nil {
			return nil, err // Finalize would wait for ever after a panic inside the graph function
		}
		if i == 0 {
			all = make([][]float64, len(traces))
		}
		for j := range traces {
			all[j] = append(all[j], tensors.MustCopyFlatData[float64](out[j])...)
		}
		for j := range state {
			state[j] = out[len(traces)+j]
		}
	}
	exec.Finalize()
	for j := range traces {
		traces[j].Value = all[j]
	}
	slices.SortStableFunc(traces, func(a, b Trace) int { return a.Layer - b.Layer })
	return traces, nil
}

// start returns the states before the first token of one row, in the order of
// slots.
func (m *Model) start(be compute.Backend, set *param.Set, slots [][]mixer.Slot) (all []any, err error) {
	exec, err := NewExec(be, func(g *Graph) (out []*Node) {
		for _, layer := range slots {
			state := mixer.StartState(g, layer, 1, set.DType)
			for _, s := range layer {
				out = append(out, state[s.Name])
			}
		}
		return out
	})
	if err != nil {
		return nil, err
	}
	out, err := exec.Call()
	for _, x := range out {
		all = append(all, x)
	}
	return all, err
}
