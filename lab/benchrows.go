package lab

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
)

// operator is a function of arrays whose first output counts.
type operator struct {
	inputs func(g *Graph) []*Node
	apply  func(x []*Node) []*Node
	flops  func(gradients bool) float64 // of the products that it takes; nil counts those of the graph
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
	if op.flops != nil {
		flops = op.flops(gradients)
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
