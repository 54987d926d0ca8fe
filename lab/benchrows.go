package lab

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/kalman"
	"github.com/kalmarz/kalmarz/layers/option"
	"github.com/kalmarz/kalmarz/layers/scan"
)

// operator is a function of arrays whose first output counts.
type operator struct {
	inputs func(g *Graph) []*Node
	apply  func(x []*Node) []*Node
}

// namedForm is a way of evaluation.
type namedForm[T any] struct {
	name string
	form T
}

// formsOf returns the forms whose name begins with a word; the first of forms is
// the one that is chosen by itself.
func formsOf[T any](forms []namedForm[T], word string, overview bool) ([]namedForm[T], error) {
	if overview || word == "chosen" {
		return forms[:1], nil
	}
	out := slices.DeleteFunc(slices.Clone(forms), func(f namedForm[T]) bool { return word != "all" && !strings.HasPrefix(f.name, word) })
	if len(out) == 0 {
		return nil, fmt.Errorf("form = %s: it has no such form", word)
	}
	return out, nil
}

// passes returns whether gradients are taken, for each pass asked for.
func passes(o option.Values) []bool {
	return map[string][]bool{"both": {false, true}, "forward": {false}, "gradients": {true}}[o.Word("pass")]
}

func passName(gradients bool) string {
	if gradients {
		return "with gradients"
	}
	return "forward"
}

func benchDType(o option.Values) dtypes.DType {
	if o.Word("dtype") == "bfloat16" {
		return dtypes.BFloat16
	}
	return dtypes.Float32
}

// operatorRows makes a row for each pass.
func operatorRows(row BenchRow, o option.Values, op operator) (out []benchCase) {
	for _, gradients := range passes(o) {
		row.Pass = passName(gradients)
		out = append(out, benchCase{BenchRow: row, open: func(be compute.Backend) (*timed, error) { return op.open(be, gradients) }})
	}
	return out
}

// open compiles an operator over inputs on the device. What is timed returns
// all outputs, and all gradients of a loss on the first, so that nothing is
// left out; a call is one evaluation, and no two share a graph, where a
// compiler would merge them.
func (op operator) open(be compute.Backend, gradients bool) (*timed, error) {
	begun := time.Now()
	args, err := onDevice(be, op.inputs)
	if err != nil {
		return nil, err
	}
	prepared := time.Since(begun)
	flops, made := 0.0, 0.0
	exec, err := NewExec(be, func(x []*Node) []*Node {
		outs := op.apply(x)
		if gradients {
			outs = append(outs, Gradient(squares(outs[0]), x...)...)
		}
		flops, made = grad.ProductFLOPs(x[0].Graph()), bytesOf(outs)
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
	x.bytes += made
	return x, nil
}

// squares is a loss on y.
func squares(y *Node) *Node { return ReduceAllSum(ConvertDType(Mul(y, y), dtypes.Float32)) }

func bytesOf(xs []*Node) float64 {
	n := 0.0
	for _, x := range xs {
		n += float64(x.Shape().ByteSize())
	}
	return n
}

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

// plans are the ways to evaluate a scan.
var plans = []namedForm[scan.Plan]{
	{"chosen", scan.Plan{}},
	{"loop", scan.Plan{Chunks: 1}},
	{"tree", scan.Plan{Chunks: 1, Tree: true}},
	{"levels", scan.Plan{Chunks: 32}},
}

func filterRows(o option.Values, overview bool) (out []benchCase, err error) {
	forms, err := formsOf(plans, o.Word("form"), overview)
	if err != nil {
		return nil, err
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
					y := kalman.Filter(kalman.Inputs{V: x[0], Precision: x[1], K: x[2], Q: x[3], A: x[4], P: x[5]}, kalman.Options{Plan: f.form})
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

// attentionRows are of softmax attention as the mixer evaluates it, with the
// scores of all pairs in memory.
func attentionRows(o option.Values, _ bool) (out []benchCase, err error) {
	Ts, err := lengths(o.Word("T"), "")
	B, H, D, dtype := o.Int("B"), o.Int("H"), o.Int("D"), benchDType(o)
	for _, T := range Ts {
		row := BenchRow{Bench: "attention", What: "softmax", Form: "all pairs", DType: o.Word("dtype"), Shape: Shape{"B": B, "T": T, "H": H, "D": D}, Tokens: B * T}
		out = append(out, operatorRows(row, o, operator{
			inputs: func(g *Graph) []*Node {
				return grad.Each([]*Node{wave(g, 0.31, B*H, T, D), wave(g, 0.77, B*H, T, D), wave(g, 0.53, B*H, T, D)}, func(x *Node) *Node { return ConvertDType(x, dtype) })
			},
			apply: func(x []*Node) []*Node { return []*Node{attend(x[0], x[1], x[2])} },
		})...)
	}
	return out, err
}

// attend is causal softmax attention over q, k, v [BH,T,D].
func attend(q, k, v *Node) *Node {
	scores := grad.Wide(grad.BMMNT(q, k))
	shape := scores.Shape()
	seen := BroadcastToDims(InsertAxes(LowerTriangular(q.Graph(), shape.Dim(1)), 0), shape.Dimensions...)
	scores = Where(seen, MulScalar(scores, 1/math.Sqrt(float64(q.Shape().Dim(2)))), ConstAs(scores, -1e30))
	return grad.BMM(ConvertDType(Softmax(scores), q.DType()), v)
}
