package lab

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/kalman"
	"github.com/kalmarz/kalmarz/layers/kernels"
	"github.com/kalmarz/kalmarz/layers/option"
	"github.com/kalmarz/kalmarz/layers/scan"
)

// plans are the ways to evaluate a scan.
var plans = []namedForm[scan.Plan]{
	{"chosen", scan.Plan{}},
	{"loop", scan.Plan{Chunks: 1}},
	{"tree", scan.Plan{Chunks: 1, Tree: true}},
	{"levels", scan.Plan{Chunks: 32}},
}

func filterRows(o option.Values, overview bool) (out []benchCase, err error) {
	forms := plans
	if o.Word("form") == "kernel" { // only some devices have them
		forms = []namedForm[scan.Plan]{{"kernel", scan.Plan{Kernel: true}}}
	}
	forms, err = formsOf(forms, o.Word("form"), overview)
	if err != nil {
		return nil, err
	}
	var plan *kernels.ScanPlan
	if text := o.Word("plan"); text != "" {
		if plan, err = kernels.ParseScanPlan(text); err != nil {
			return nil, err
		}
	}
	Ts, err := lengths(o.Word("T"), "")
	if err != nil {
		return nil, err
	}
	B, M, S, dtype := o.Int("B"), o.Int("M"), o.Int("S"), benchDType(o)
	for _, T := range Ts {
		for _, f := range forms {
			row := BenchRow{Bench: "filter", What: "Kalman filter", Form: f.name, DType: o.Word("dtype"), Shape: Shape{"B": B, "T": T, "M": M, "S": S}, Tokens: B * T}
			out = append(out, operatorRows(row, o, operator{
				inputs: func(g *Graph) []*Node {
					sequence := []*Node{wave(g, 0.31, B, T, M), Exp(wave(g, 0.53, B, T, M)), grad.L2(wave(g, 0.77, B, T, S), 1e-6), grad.L2(wave(g, 0.41, B, T, S), 1e-6)}
					for i := range sequence {
						sequence[i] = ConvertDType(sequence[i], dtype)
					}
					return append(sequence, AddScalar(MulScalar(wave(g, 0.11, M, S), 0.2), 0.7), AddScalar(MulScalar(wave(g, 0.23, M, S), 0.02), 0.04))
				},
				apply: func(x []*Node) []*Node {
					in, how := kalman.Inputs{V: x[0], Precision: x[1], K: x[2], Q: x[3], A: x[4], P: x[5]}, kalman.Options{Plan: f.form}
					kernels.TuneScan(plan)
					defer kernels.TuneScan(nil)
					if f.form.Kernel {
						if err := in.KernelError(how); err != nil {
							exceptions.Panicf("%v", err)
						}
					}
					y := kalman.Filter(in, how)
					return []*Node{y.Y, y.State.Lambda, y.State.Eta}
				},
			})...)
		}
	}
	return out, nil
}

func scanRows(o option.Values, overview bool) (out []benchCase, err error) {
	forms, err := formsOf(plans, o.Word("form"), overview)
	if err != nil {
		return nil, err
	}
	Ts, err := lengths(o.Word("T"), "")
	if err != nil {
		return nil, err
	}
	B, W := o.Int("B"), o.Int("M")*o.Int("S")
	for _, m := range []struct {
		name  string
		apply func(x []*Node, plan scan.Plan) (*Node, *Node)
		size  int
	}{
		{"affine", func(x []*Node, p scan.Plan) (*Node, *Node) { return scan.Affine(x[0], x[1], x[2], p) }, 2},
		{"Möbius", func(x []*Node, p scan.Plan) (*Node, *Node) { return scan.Moebius(x[0], x[1], x[2], x[3], x[4], p) }, 4},
		{"max-plus", func(x []*Node, p scan.Plan) (*Node, *Node) { return scan.MaxPlus(x[0], x[1], x[2], p) }, 2},
	} {
		for _, T := range Ts {
			for _, f := range forms {
				row := BenchRow{Bench: "scan", What: m.name, Form: f.name, DType: "float32", Shape: Shape{"B": B, "T": T, "W": W}, Tokens: B * T}
				out = append(out, operatorRows(row, o, operator{
					inputs: func(g *Graph) (in []*Node) { // entries in (0.1, 0.9), so that all maps stay in range
						for i := range m.size {
							in = append(in, AddScalar(MulScalar(wave(g, 0.31+0.17*float64(i), B, T, W), 0.4), 0.5))
						}
						return append(in, AddScalar(MulScalar(wave(g, 0.23, B, W), 0.4), 0.5))
					},
					apply: func(x []*Node) []*Node {
						xs, last := m.apply(x, f.form)
						return []*Node{xs, last}
					},
				})...)
			}
		}
	}
	return out, nil
}
