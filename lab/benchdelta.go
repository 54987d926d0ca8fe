package lab

import (
	"fmt"
	"math"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/kernels"
	"github.com/kalmarz/kalmarz/layers/option"
)

// deltaForms are the ways to evaluate the matrix recurrence.
func deltaForms(o option.Values) ([]namedForm[delta.Form], error) {
	forms := []namedForm[delta.Form]{{"chosen", delta.Form{}}, {"recurrent", delta.Form{Recurrent: true}}}
	chunks, ok := powersOfTwo(o.Word("chunks"), math.MaxInt)
	if !ok {
		return nil, fmt.Errorf("chunks = %s: must be powers of two with commas", o.Word("chunks"))
	}
	for _, n := range chunks {
		forms = append(forms, namedForm[delta.Form]{fmt.Sprintf("chunk %d", n), delta.Form{Chunk: n}})
		if o.Word("dtype") == "bfloat16" {
			forms = append(forms, namedForm[delta.Form]{fmt.Sprintf("chunk %d, narrow", n), delta.Form{Chunk: n, Narrow: true}})
		}
	}
	if o.Word("form") == "kernel" { // only some devices have them
		forms = append(forms, namedForm[delta.Form]{"kernel", delta.Form{Kernel: true}})
	}
	return forms, nil
}

// deltaBench is a recurrence that bench times.
type deltaBench struct {
	which, name string
	decays      int // a token and head
	erases      bool
	rated       bool // e = k and rates about 1/2 instead of e = k/2
}

func deltaRows(o option.Values, overview bool) (out []benchCase, err error) {
	forms, err := deltaForms(o)
	if err == nil {
		forms, err = formsOf(forms, o.Word("form"), overview)
	}
	if err != nil {
		return nil, err
	}
	Ts, err := lengths(o.Word("T"), "")
	if err != nil {
		return nil, err
	}
	B, H, D, dtype := o.Int("B"), o.Int("H"), o.Int("D"), benchDType(o)
	var plan *kernels.Plan
	if text := o.Word("plan"); text != "" {
		if plan, err = kernels.ParsePlan(text); err != nil {
			return nil, err
		}
	}
	for _, r := range []deltaBench{
		{"none", "delta rule", 0, true, false}, {"head", "delta, a decay a head", 1, true, false}, {"rate", "delta by rates, a decay a head", 1, true, true},
		{"channel", "delta, a decay a channel", D, true, false}, {"channel-rate", "delta by rates, a decay a channel", D, true, true},
		{"additive", "additive, a decay a head", 1, false, false}, {"channel-additive", "additive, a decay a channel", D, false, false},
	} {
		if which := o.Word("decay"); which != "all" && which != r.which {
			continue
		}
		for _, T := range Ts {
			for _, f := range forms {
				row := BenchRow{Bench: "delta", What: r.name, Form: f.name, DType: o.Word("dtype"), Shape: Shape{"B": B, "T": T, "H": H, "D": D}, Tokens: B * T}
				out = append(out, operatorRows(row, o, operator{
					inputs: func(g *Graph) []*Node { return r.inputs(g, dtype, B, T, H, D) },
					apply: func(x []*Node) []*Node {
						in := r.of(x)
						if f.form.Kernel {
							if err := in.KernelError(); err != nil {
								exceptions.Panicf("%v", err)
							}
						}
						kernels.Tune(plan)
						defer kernels.Tune(nil)
						y := delta.Run(in, f.form)
						return []*Node{y.O, y.State}
					},
				})...)
			}
		}
	}
	return out, nil
}

// inputs are unit keys, e = k/2 or rates about 1/2, and log-decays in (-0.1, 0),
// which are float32 as mixers have them.
func (r deltaBench) inputs(g *Graph, dtype dtypes.DType, B, T, H, D int) []*Node {
	k := grad.L2(wave(g, 0.77, B, T, H, D), 1e-6)
	out := []*Node{wave(g, 0.31, B, T, H, D), k, wave(g, 0.53, B, T, H, D)}
	switch {
	case r.rated:
		out = append(out, AddScalar(MulScalar(wave(g, 0.29, B, T, H), 0.1), 0.5))
	case r.erases:
		out = append(out, MulScalar(k, 0.5))
	}
	out = grad.Each(out, func(x *Node) *Node { return ConvertDType(x, dtype) })
	if r.decays > 0 {
		dims := []int{B, T, H}
		if r.decays > 1 {
			dims = append(dims, D)
		}
		out = append(out, AddScalar(MulScalar(wave(g, 0.11, dims...), 0.05), -0.05))
	}
	return out
}

// of gives the inputs their places.
func (r deltaBench) of(x []*Node) delta.Inputs {
	in := delta.Inputs{Q: x[0], K: x[1], Write: x[2]}
	rest := x[3:]
	switch {
	case r.rated:
		in.Erase, in.Rate, rest = in.K, rest[0], rest[1:]
	case r.erases:
		in.Erase, rest = rest[0], rest[1:]
	}
	if r.decays > 0 {
		in.LogDecay = rest[0]
	}
	return in
}
