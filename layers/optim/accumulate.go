package optim

// Gradient accumulation. The loss of a batch is a sum over its parts if each
// part's is divided by the whole batch's count of scored positions, and so are
// its gradients. They are added up in variables, on the device, by one graph
// that runs once for each part; another graph takes the sums.

import (
	"strings"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
)

const accumulatedScope = "/accumulated"

// Accumulate adds the loss of a part, a scalar, and the gradients of the
// trainable variables that its graph uses to what is there of earlier parts.
func Accumulate(scope *model.Scope, loss *Node) {
	g := loss.Graph()
	grads := scope.BuildTrainableVariablesGradientsGraph(loss)
	add := func(path string, x *Node) {
		sum := state(scope.Store(), path, x.Shape().Dimensions, x.DType())
		sum.SetNodeValue(Add(sum.NodeValue(g), x))
	}
	add(accumulatedScope+"/loss", loss)
	for i, v := range Trainable(scope, g) {
		add(accumulatedScope+"/gradient"+v.Path(), grads[i])
	}
}

// Accumulated returns what Accumulate has added up, and sets it to zero for the
// next step. The gradients are those of Trainable(scope, g).
func Accumulated(scope *model.Scope, g *Graph) (loss *Node, grads []*Node) {
	take := func(v *model.Variable) *Node {
		sum := v.NodeValue(g)
		v.SetNodeValue(ZerosLike(sum))
		return sum
	}
	store := scope.Store()
	sums := map[string]*model.Variable{}
	for v := range scope.IterVariables() {
		if sum := store.GetVariable(accumulatedScope + "/gradient" + v.Path()); sum != nil {
			sums[v.Path()] = sum
		}
	}
	for v := range scope.IterVariables() {
		if sums[v.Path()] != nil {
			v.NodeValue(g) // it is now in use by g
		}
	}
	for _, v := range Trainable(scope, g) {
		grads = append(grads, take(sums[v.Path()]))
	}
	return take(store.GetVariable(accumulatedScope + "/loss")), grads
}

// ClearAccumulated forgets the parts of a step that was not finished.
func ClearAccumulated(store *model.Store) error { return clearState(store, accumulatedScope) }

// IsAccumulated tells whether a variable holds a sum over parts, which is zero
// between steps.
func IsAccumulated(v *model.Variable) bool { return strings.HasPrefix(v.Path(), accumulatedScope+"/") }
