package lab

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	gomodel "github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/option"
	"github.com/kalmarz/kalmarz/layers/param"
)

// chosenMixers reads mixers.
func chosenMixers(o option.Values) (out []*mixer.Kind, err error) {
	if o.Word("mixers") == "all" {
		return mixer.Registry, nil
	}
	for _, name := range strings.Split(o.Word("mixers"), ",") {
		k, err := findMixer(name)
		if err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	return out, nil
}

// evenSizes gives mixers with heads so many, with keys and values of the
// model's width together, so that they do comparable work; the others keep
// their own sizes.
func evenSizes(k *mixer.Kind, heads int) map[string]string {
	return only(map[string]string{"heads": strconv.Itoa(heads), "expand_k": "1", "expand_v": "1"}, k.Options)
}

func layerRows(o option.Values, _ bool) (out []benchCase, err error) {
	kinds, err := chosenMixers(o)
	if err != nil {
		return nil, err
	}
	Ts, err := lengths(o.Word("T"), "")
	if err != nil {
		return nil, err
	}
	B, H, D, dtype := o.Int("B"), o.Int("H"), o.Int("D"), benchDType(o)
	for _, k := range kinds {
		l, err := mixer.New(k.Name, H*D, evenSizes(k, H))
		if err != nil {
			err = fmt.Errorf("H = %d, D = %d: %w", H, D, err)
		}
		for _, T := range Ts {
			for _, gradients := range passes(o) {
				row := BenchRow{Bench: "layer", What: k.Name, Form: "chosen", Pass: passName(gradients), DType: o.Word("dtype"),
					Shape: Shape{"B": B, "T": T, "H": H, "D": D}, Tokens: B * T}
				out = append(out, benchCase{BenchRow: row, cannot: err, open: func(be compute.Backend) (*timed, error) {
					return openLayer(be, l, dtype, gradients, B, T, H*D)
				}})
			}
		}
	}
	return out, allCannot(out)
}

// openLayer compiles a mixer on inputs [B,T,d] of a type; parameters are float32.
// Gradients are of the input and of all parameters.
func openLayer(be compute.Backend, l mixer.Layer, dtype dtypes.DType, gradients bool, B, T, d int) (*timed, error) {
	begun := time.Now()
	args, err := onDevice(be, func(g *Graph) []*Node { return []*Node{ConvertDType(wave(g, 0.31, B, T, d), dtype)} })
	if err != nil {
		return nil, err
	}
	set := param.NewSet(dtypes.Float32, 1, nil)
	apply := func(x *Node) []*Node {
		y, state := mixer.Apply(l, mixer.Context{Scope: set.At(x.Graph())}, x, nil)
		return append([]*Node{y}, inOrder(l.Slots(T), state)...)
	}
	apply(ConvertDType(wave(NewGraph(be, "parameters"), 1, 1, 1, d), dtype)) // makes them
	prepared := time.Since(begun)
	flops, made := 0.0, 0.0
	exec, err := gomodel.NewExec(be, set.Store, func(_ *gomodel.Scope, x *Node) []*Node {
		outs := apply(x)
		if gradients {
			of := []*Node{x}
			for _, e := range set.Entries() {
				if e.Role != param.Fixed {
					of = append(of, e.Variable().NodeValue(x.Graph()))
				}
			}
			outs = append(outs, Gradient(squares(outs[0]), of...)...)
		}
		flops, made = grad.ProductFLOPs(x.Graph()), bytesOf(outs)
		return append([]*Node{glance(outs[len(outs)-1])}, outs...)
	})
	if err != nil {
		return nil, err
	}
	x, err := calling(exec, args)
	if err != nil {
		return nil, err
	}
	x.flops, x.prepared = flops, prepared
	x.bytes += made + 4*float64(set.Count())
	closeExec := x.close
	x.close = func() { closeExec(); set.Store.Finalize() }
	return x, nil
}

// inOrder lists a layer's state by its slots.
func inOrder(slots []mixer.Slot, state mixer.State) (out []*Node) {
	for _, s := range slots {
		out = append(out, state[s.Name])
	}
	return out
}
