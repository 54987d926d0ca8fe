package mixercheck

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/param"
)

// give makes the layer's parameters in set, by building a graph that is never
// run, and sets them to the case's.
func (c Case) give(be compute.Backend, set *param.Set) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("mixercheck: %v", r)
		}
	}()
	g := NewGraph(be, "parameters")
	x := Parameter(g, "x", shapes.Make(c.DType, c.X.Dims...))
	mixer.Apply(c.Layer, mixer.Context{Scope: set.At(g), Form: c.Form}, x, nil)
	return mixer.FromTorch(set, "", c.Torch)
}

// listen collects the wanted offers, one value a piece.
func (c Case) listen(ctx *mixer.Context) map[string][]*Node {
	offered := map[string][]*Node{}
	if len(c.Offers) > 0 {
		ctx.Offer = func(name string, value *Node) {
			if slices.Contains(c.Offers, name) {
				offered[name] = append(offered[name], value)
			}
		}
	}
	return offered
}
