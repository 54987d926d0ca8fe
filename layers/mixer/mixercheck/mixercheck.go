// Package mixercheck evaluates a mixer with all its gradients in any form, type
// and cut of the sequence, so that tests and the selftest command can compare
// one with another.
package mixercheck

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/param"
)

// Case is one evaluation. The loss is a fixed random combination of y and of
// every array of the final state, or of the first tokens' y.
type Case struct {
	Layer  mixer.Layer
	X      check.Array // [B,T,D]
	State  bool        // start from a random state instead of an empty one
	Room   int         // tokens that a cache must have room for; at least T
	Pieces []int       // lengths into which the sequence is cut; nil means whole
	Form   delta.Form
	DType  dtypes.DType
	Seed   uint64 // of parameters, state and loss
	Values bool   // outputs and state only, no gradients
	Before int    // if above 0, the loss is on y before this token alone

	Torch  map[string]check.Array // parameters in PyTorch's layouts; nil means initial ones
	Weight check.Array            // if it has values, the loss is Σ y∘Weight
	Offers []string               // values that the layer offers, to be returned
}

// Result maps "y", "state/SLOT", "grad x", "grad state/SLOT" and
// "grad PARAMETER" to values, and "offer/NAME" to what the layer offered.
type Result map[string]check.Array

// Run evaluates the case on a backend.
func Run(be compute.Backend, c Case) (Result, error) {
	B, T := c.X.Dims[0], c.X.Dims[1]
	pieces := c.Pieces
	if pieces == nil {
		pieces = []int{T}
	}
	if c.Values && len(pieces) > 1 {
		return stream(be, c)
	}
	set := param.NewSet(c.DType, c.Seed, nil)
	if c.Torch != nil {
		if err := c.give(be, set); err != nil {
			return nil, err
		}
	}
	slots := c.Layer.Slots(max(c.Room, T))
	var names []string
	exec, err := model.NewExec(be, set.Store, func(_ *model.Scope, in []*Node) []*Node {
		g := in[0].Graph()
		for i := range in {
			in[i] = ConvertDType(in[i], c.DType)
		}
		ctx := mixer.Context{Scope: set.At(g), Form: c.Form}
		offered := c.listen(&ctx)
		state := make(mixer.State, len(slots))
		for i, s := range slots {
			state[s.Name] = in[1+i]
		}
		wrt := in
		var ys []*Node
		for at, i := 0, 0; i < len(pieces); i++ {
			x := SliceAxis(in[0], 1, AxisRange(at, at+pieces[i]))
			at += pieces[i]
			var y *Node
			y, state = mixer.Apply(c.Layer, ctx, x, state)
			ys = append(ys, y)
		}
		names = []string{"y"}
		outs := []*Node{Concatenate(ys, 1)}
		for _, s := range slots {
			names = append(names, "state/"+s.Name)
			outs = append(outs, state[s.Name])
		}
		if !c.Values {
			loss := ScalarZero(g, c.DType)
			rng := rand.New(rand.NewPCG(c.Seed, 77))
			part := outs
			if c.Before > 0 {
				part = []*Node{SliceAxis(outs[0], 1, AxisRange(0, c.Before))}
			}
			if c.Weight.Values != nil {
				part = outs[:1]
			}
			for _, o := range part {
				w := c.Weight
				if w.Values == nil {
					w = check.Random(rng, 1, o.Shape().Dimensions...)
				}
				loss = Add(loss, ReduceAllSum(Mul(ConvertDType(o, c.DType), ConvertDType(Const(g, w.Tensor()), c.DType))))
			}
			names = append(names, "grad x")
			for _, s := range slots {
				names = append(names, "grad state/"+s.Name)
			}
			for _, e := range set.Entries() {
				if e.Role != param.Fixed {
					names = append(names, "grad "+e.Name)
					wrt = append(wrt, e.Variable().NodeValue(g))
				}
			}
			outs = append(outs, Gradient(loss, wrt...)...)
		}
		for _, name := range c.Offers {
			names = append(names, "offer/"+name)
			outs = append(outs, Concatenate(offered[name], 1))
		}
		for i := range outs {
			outs[i] = ConvertDType(outs[i], dtypes.Float64)
		}
		return outs
	})
	if err != nil {
		return nil, err
	}
	args := append([]any{c.X.Tensor()}, c.state(slots, B)...)
	ts, err := exec.Call(args...)
	if err != nil {
		return nil, err // Finalize would wait for ever after a panic inside the graph function
	}
	defer exec.Finalize()
	if len(ts) != len(names) {
		return nil, fmt.Errorf("mixercheck: %d results for %d names", len(ts), len(names))
	}
	r := make(Result, len(ts))
	for i, t := range ts {
		r[names[i]] = check.Array{Dims: t.Shape().Dimensions, Values: tensors.MustCopyFlatData[float64](t)}
	}
	return r, nil
}

// state draws the state that the case starts from.
func (c Case) state(slots []mixer.Slot, B int) (args []any) {
	rng := rand.New(rand.NewPCG(c.Seed, 78))
	for _, s := range slots {
		a := check.Random(rng, 0.5, append([]int{B}, s.Dims...)...)
		for i, v := range a.Values {
			switch {
			case !c.State || s.Name == "t":
				a.Values[i] = s.Start
			case s.Start > 0:
				a.Values[i] = s.Start * math.Exp(v)
			}
		}
		args = append(args, a.Tensor())
	}
	return args
}

// Worst returns the largest relative errors of r against want, of outputs and
// final states and of gradients, and the names of the worst.
func (r Result) Worst(want Result) (value, grad float64, worstValue, worstGrad string) {
	for name, a := range r {
		e := check.RelErr(a.Values, want[name].Values)
		if strings.HasPrefix(name, "grad ") {
			if e >= grad {
				grad, worstGrad = e, name
			}
		} else if e >= value {
			value, worstValue = e, name
		}
	}
	return
}
