package lab

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
)

// deltaForms are the ways to evaluate the matrix recurrence.
func deltaForms(o option.Values) ([]namedForm[delta.Form], error) {
	forms := []namedForm[delta.Form]{{"chosen", delta.Form{}}, {"recurrent", delta.Form{Recurrent: true}}}
	for _, c := range strings.Split(o.Word("chunks"), ",") {
		n, err := strconv.Atoi(c)
		if err != nil || n < 1 || n&(n-1) != 0 {
			return nil, fmt.Errorf("chunks = %s: must be powers of two with commas", o.Word("chunks"))
		}
		forms = append(forms, namedForm[delta.Form]{fmt.Sprintf("chunk %d", n), delta.Form{Chunk: n}})
		if o.Word("dtype") == "bfloat16" {
			forms = append(forms, namedForm[delta.Form]{fmt.Sprintf("chunk %d, narrow", n), delta.Form{Chunk: n, Narrow: true}})
		}
	}
	return forms, nil
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
	for _, r := range []struct {
		which, name string
		decays      int
		erase       bool
	}{{"none", "delta rule", 0, true}, {"head", "delta, a decay a head", 1, true}, {"channel", "delta, a decay a channel", D, true}, {"additive", "additive, a decay a head", 1, false}} {
		if which := o.Word("decay"); which != "all" && which != r.which {
			continue
		}
		for _, T := range Ts {
			for _, f := range forms {
				row := BenchRow{Bench: "delta", What: r.name, Form: f.name, DType: o.Word("dtype"), Shape: Shape{"B": B, "T": T, "H": H, "D": D}, Tokens: B * T}
				out = append(out, operatorRows(row, o, operator{
					inputs: func(g *Graph) []*Node { return deltaInputs(g, dtype, B, T, H, D, r.decays, r.erase) },
					apply: func(x []*Node) []*Node {
						in := delta.Inputs{Q: x[0], K: x[1], Write: x[2]}
						rest := x[3:]
						if r.erase {
							in.Erase, rest = rest[0], rest[1:]
						}
						if r.decays > 0 {
							in.LogDecay = rest[0]
						}
						y := delta.Run(in, f.form)
						return []*Node{y.O, y.State}
					},
				})...)
			}
		}
	}
	return out, nil
}

// deltaInputs are unit keys, e = k/2 and log-decays in (-0.1, 0).
func deltaInputs(g *Graph, dtype dtypes.DType, B, T, H, D, decays int, erase bool) []*Node {
	k := grad.L2(wave(g, 0.77, B, T, H, D), 1e-6)
	out := []*Node{wave(g, 0.31, B, T, H, D), k, wave(g, 0.53, B, T, H, D)}
	if erase {
		out = append(out, MulScalar(k, 0.5))
	}
	if decays > 0 {
		dims := []int{B, T, H}
		if decays > 1 {
			dims = append(dims, D)
		}
		out = append(out, AddScalar(MulScalar(wave(g, 0.11, dims...), 0.05), -0.05))
	}
	return grad.Each(out, func(x *Node) *Node { return ConvertDType(x, dtype) })
}
