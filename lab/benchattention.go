package lab

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/kalmarz/kalmarz/layers/attention"
	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/kernels"
	"github.com/kalmarz/kalmarz/layers/option"
)

// mostScores bounds the bytes of the scores of all pairs, of which a gradient needs
// several arrays: more are not tried.
const mostScores = 32 << 30

// attentionRows are of softmax attention as the mixer evaluates it. Products are
// counted alike in all forms: for pairs of a token and one before it or itself
// alone, two forward, and with gradients five more, one of which makes the scores
// again.
func attentionRows(o option.Values, overview bool) (out []benchCase, err error) {
	forms := []namedForm[attention.Form]{{"all pairs", attention.Form{AllPairs: true}}}
	if o.Word("form") == "kernel" { // only some devices have them
		forms = []namedForm[attention.Form]{{"kernel", attention.Form{Kernel: true}}}
	}
	if forms, err = formsOf(forms, o.Word("form"), overview); err != nil {
		return nil, err
	}
	Ts, err := lengths(o.Word("T"), "")
	if err != nil {
		return nil, err
	}
	var plan *kernels.AttentionPlan
	if text := o.Word("plan"); text != "" {
		if plan, err = kernels.ParseAttentionPlan(text); err != nil {
			return nil, err
		}
	}
	B, H, D, dtype := o.Int("B"), o.Int("H"), o.Int("D"), benchDType(o)
	for _, T := range Ts {
		for _, f := range forms {
			row := BenchRow{Bench: "attention", What: "softmax", Form: f.name, DType: o.Word("dtype"), Shape: Shape{"B": B, "T": T, "H": H, "D": D}, Tokens: B * T}
			pairs := float64(B*H) * float64(T) * float64(T+1) / 2
			cases := operatorRows(row, o, operator{
				inputs: func(g *Graph) []*Node {
					return grad.Each([]*Node{wave(g, 0.31, B, T, H, D), wave(g, 0.77, B, T, H, D), wave(g, 0.53, B, T, H, D)}, func(x *Node) *Node { return ConvertDType(x, dtype) })
				},
				apply: func(x []*Node) []*Node {
					kernels.TuneAttention(plan)
					defer kernels.TuneAttention(nil)
					in := attention.Inputs{Q: x[0], K: x[1], V: x[2]}
					if f.form.Kernel {
						if err := in.KernelError(); err != nil {
							exceptions.Panicf("%v", err)
						}
					}
					return []*Node{attention.Run(in, f.form)}
				},
				flops: func(gradients bool) float64 {
					if gradients {
						return 7 * 2 * pairs * float64(D)
					}
					return 2 * 2 * pairs * float64(D)
				},
			})
			if size := 4 * float64(B*H) * float64(T) * float64(T); f.form.AllPairs && size > mostScores {
				for i := range cases {
					cases[i].cannot = fmt.Errorf("the scores of all pairs would take %sB: form=kernel, on devices that have kernels, holds none", short(size))
				}
			}
			out = append(out, cases...)
		}
	}
	return out, nil
}
