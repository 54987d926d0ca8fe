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

// Norm returns the Euclidean norm of all values together, as that of the norms of
// all rows: for a compiler that is one kernel an array and one for the rest, where
// the sums of whole arrays take two each.
func Norm(xs []*Node) *Node {
	rows := make([]*Node, len(xs))
	for i, x := range xs {
		if x.Rank() > 1 {
			x = Sqrt(ReduceSum(Square(x), -1))
		}
		rows[i] = Reshape(x, -1)
	}
	return Sqrt(ReduceAllSum(Square(Concatenate(rows, 0))))
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

// UpdateRMS returns the root mean square over all values of after - before.
func UpdateRMS(before, after []*Node) *Node {
	var changes []*Node
	n := 0
	for i := range before {
		changes = append(changes, Sub(after[i], before[i]))
		n += before[i].Shape().Size()
	}
	return DivScalar(Norm(changes), math.Sqrt(float64(n)))
}

// state returns an optimiser variable, which the first call makes as zeros.
func state(store *model.Store, path string, dims []int, dtype dtypes.DType) *model.Variable {
	v := store.GetVariable(path)
	if v == nil {
		v = store.VariableWithValue(path, zeros(dims, dtype)).SetTrainable(false)
	}
	return v
}

// optimiserScope is where all optimisers keep their state.
const optimiserScope = "/optimizers"

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
