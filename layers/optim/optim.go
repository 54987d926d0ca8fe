package optim

import (
	"fmt"
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
)

// Trainable lists the trainable variables below the scope that g uses, in the
// order in which GoMLX takes gradients of them.
func Trainable(scope *model.Scope, g *Graph) []*model.Variable {
	var vs []*model.Variable
	for v := range scope.IterVariables() {
		if v.Trainable && v.InUseByGraph(g) {
			vs = append(vs, v)
		}
	}
	return vs
}

// Norm returns the Euclidean norm of all values together.
func Norm(xs []*Node) *Node {
	var sum *Node
	for _, x := range xs {
		s := ReduceAllSum(Square(x))
		if sum == nil {
			sum = s
		} else {
			sum = Add(sum, s)
		}
	}
	return Sqrt(sum)
}

// ClipNorm scales gradients of the given joint norm down to at most limit; 0 means
// no limit.
func ClipNorm(grads []*Node, norm *Node, limit float64) []*Node {
	if limit == 0 {
		return grads
	}
	scale := MinScalar(MulScalar(Reciprocal(AddScalar(norm, 1e-6)), limit), 1)
	out := make([]*Node, len(grads))
	for i, g := range grads {
		out[i] = Mul(g, scale)
	}
	return out
}

// Cosine returns the learning rate of step (counted from 1) of steps: linear to
// peak over warmup steps, then half a cosine down to floor·peak.
func Cosine(peak, floor float64, warmup, steps, step int) float64 {
	if step <= warmup {
		return peak * float64(step) / float64(warmup)
	}
	x := 1.0
	if steps > warmup {
		x = float64(step-warmup) / float64(steps-warmup)
	}
	return peak * (floor + (1-floor)*(1+math.Cos(math.Pi*x))/2)
}

// state returns an optimiser variable, which the first call makes as zeros.
func state(store *model.Store, path string, dims []int, dtype dtypes.DType) *model.Variable {
	v := store.GetVariable(path)
	if v == nil {
		v = store.VariableWithValue(path, zeros(dims, dtype)).SetTrainable(false)
	}
	return v
}

// clearState zeroes all optimiser variables below a scope.
func clearState(store *model.Store, scope string) error {
	for v := range store.Scope(scope).IterVariables() {
		if err := v.SetValue(zeros(v.Shape().Dimensions, v.DType())); err != nil {
			return fmt.Errorf("optimiser state %s: %w", v.Path(), err)
		}
	}
	return nil
}

func zeros(dims []int, dtype dtypes.DType) *tensors.Tensor {
	return tensors.FromShape(shapes.Make(dtype, dims...))
}
