// Package check compares graphs with float64 values: it evaluates a graph
// function and the gradients of all its inputs on a backend, and measures how
// far they are from a reference. Tests and the selftest command share it.
package check

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// Array is a float64 array with its dimensions.
type Array struct {
	Dims   []int
	Values []float64
}

// Random returns an array of independent N(0, scale²) values.
func Random(rng *rand.Rand, scale float64, dims ...int) Array {
	a := Array{Dims: dims, Values: make([]float64, size(dims))}
	for i := range a.Values {
		a.Values[i] = scale * rng.NormFloat64()
	}
	return a
}

func size(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// Tensor returns the array as a float64 tensor.
func (a Array) Tensor() *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(a.Values, a.Dims...)
}

// Gradients evaluates outs = fn(ins) with every input and weight converted to
// dtype, and the gradients of Σ_i Σ outs_i∘weights_i with respect to each
// input; weights that are missing or have no values count as zero. Without any
// weights no gradient is taken.
func Gradients(be compute.Backend, dtype dtypes.DType, fn func(ins []*Node) []*Node, ins, weights []Array) (outs, grads []Array, err error) {
	used := 0
	for _, w := range weights {
		if len(w.Values) > 0 {
			used++
		}
	}
	exec, err := NewExec(be, func(args []*Node) []*Node {
		for i := range args {
			args[i] = ConvertDType(args[i], dtype)
		}
		ys := fn(args[:len(ins)])
		out := append([]*Node{}, ys...)
		if used > 0 {
			var loss *Node
			next := len(ins)
			for i, w := range weights {
				if len(w.Values) == 0 {
					continue
				}
				term := ReduceAllSum(Mul(ConvertDType(ys[i], dtype), args[next]))
				next++
				if loss == nil {
					loss = term
				} else {
					loss = Add(loss, term)
				}
			}
			out = append(out, Gradient(loss, args[:len(ins)]...)...)
		}
		for i := range out {
			out[i] = ConvertDType(out[i], dtypes.Float64)
		}
		return out
	})
	if err != nil {
		return nil, nil, err
	}
	args := make([]any, 0, len(ins)+used)
	for _, a := range ins {
		args = append(args, a.Tensor())
	}
	for _, w := range weights {
		if len(w.Values) > 0 {
			args = append(args, w.Tensor())
		}
	}
	ts, err := exec.Call(args...)
	if err != nil {
		return nil, nil, err // Finalize would wait for ever after a panic inside the graph function
	}
	defer exec.Finalize()
	all := make([]Array, len(ts))
	for i, t := range ts {
		all[i] = Array{Dims: t.Shape().Dimensions, Values: tensors.MustCopyFlatData[float64](t)}
	}
	if used == 0 {
		return all, nil, nil
	}
	n := len(all) - len(ins)
	return all[:n], all[n:], nil
}

// RelErr returns max|a-b| / max|b|, or max|a-b| where b is all zero; it is
// +Inf if a holds anything that is not finite.
func RelErr(a, b []float64) float64 {
	if len(a) != len(b) {
		panic(fmt.Sprintf("check: comparing %d values with %d", len(a), len(b)))
	}
	diff, scale := 0.0, 0.0
	for i := range b {
		d := math.Abs(a[i] - b[i])
		if math.IsNaN(d) || math.IsInf(d, 0) {
			return math.Inf(1)
		}
		diff, scale = max(diff, d), max(scale, math.Abs(b[i]))
	}
	if scale == 0 {
		return diff
	}
	return diff / scale
}
