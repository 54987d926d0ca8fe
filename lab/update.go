package lab

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	gomodel "github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/datasets"
	"github.com/kalmarz/kalmarz/layers/model"
	"github.com/kalmarz/kalmarz/layers/optim"
)

// A training step leaves parameters and the optimiser's state on the device: the
// graphs set them as variables, whose buffers GoMLX gives up for the execution's
// outputs. (XLA is not told before it compiles, so it writes to new buffers, and
// the step needs room for both.) The host sends tokens, masks and rates, and reads
// back the vector that update returns; weights it reads for checkpoints alone.

// stepGraph takes tokens, targets [B,T], mask [B,T], two learning rates and, if
// the batches have extra rows, those as another three.
func (t *trainer) stepGraph(scope *gomodel.Scope, in []*Node) *Node {
	loss := model.Loss(t.logits(in[0]), in[1], in[2])
	if len(in) > 5 { // rows of another length, whose loss is added
		loss = Add(loss, model.Loss(t.logits(in[5]), in[6], in[7]))
	}
	return t.update(scope, loss, scope.BuildTrainableVariablesGradientsGraph(loss), in[3], in[4])
}

// gatherGraph takes tokens, targets and mask of a part of a batch, and the
// whole batch's count of scored positions; the same of extra rows may follow.
func (t *trainer) gatherGraph(scope *gomodel.Scope, in []*Node) *Node {
	loss := model.LossOf(t.logits(in[0]), in[1], in[2], in[3])
	if len(in) > 4 {
		loss = Add(loss, model.LossOf(t.logits(in[4]), in[5], in[6], in[7]))
	}
	optim.Accumulate(scope, loss)
	return loss
}

// applyGraph takes the step that has been gathered.
func (t *trainer) applyGraph(scope *gomodel.Scope, in []*Node) *Node {
	loss, grads := optim.Accumulated(scope, in[0].Graph())
	return t.update(scope, loss, grads, in[0], in[1])
}

func (t *trainer) logits(tokens *Node) *Node {
	logits, _ := t.e.Model.Apply(t.set.At(tokens.Graph()), t.e.form(), tokens, nil)
	return logits
}

// update takes an optimiser's step and returns a vector: the loss, the gradients'
// norm before clipping, the norm of the updated parameters, and the root mean
// square of the changes of each group.
func (t *trainer) update(scope *gomodel.Scope, loss *Node, grads []*Node, rate, rest *Node) *Node {
	g := loss.Graph()
	norm := optim.Norm(grads)
	before := map[string]*Node{}
	for _, v := range optim.Trainable(scope, g) {
		before[v.Path()] = v.NodeValue(g)
	}
	kind, o := t.e.optimiser()
	t.opt = kind.New(o, optim.Settings{
		Rate: rate, RestRate: rest, Beta1: t.e.Float("beta1"), Beta2: t.e.Float("beta2"), WeightDecay: t.e.Float("wd"), Entries: t.set.Entries(),
	})
	t.opt.UpdateGraphWithGradients(scope, optim.ClipNorm(grads, norm, t.e.Float("clip")), loss.DType())
	var weights []*Node
	for _, v := range optim.Trainable(scope, g) {
		weights = append(weights, v.NodeValue(g))
	}
	out := []*Node{loss, norm, optim.Norm(weights)}
	t.groups = kind.Groups(o, t.set.Entries())
	for _, group := range t.groups {
		var from, to []*Node
		for _, e := range group.Entries {
			from, to = append(from, before[e.Variable().Path()]), append(to, e.Variable().NodeValue(g))
		}
		out = append(out, optim.UpdateRMS(from, to))
	}
	return Stack(out, 0)
}

// measured is what one step reports.
type measured struct {
	loss, gradNorm, weightNorm float64
	updates                    map[string]Number // root mean square of the changes by optimiser
}

// train takes one step on a batch.
func (t *trainer) train(b datasets.Batch, rate, rest float64) (m measured, err error) {
	rates := []any{rate, rest}
	if t.set.DType == dtypes.Float32 {
		rates = []any{float32(rate), float32(rest)}
	}
	var out []*tensors.Tensor
	if parts := t.e.Int("accumulate"); parts > 1 {
		for i := range parts {
			if out, err = t.call(t.gather, lessTraining, partArgs(b, i, parts)...); err != nil {
				return m, err
			}
		}
		out, err = t.call(t.apply, lessTraining, rates...)
	} else {
		args := append(batchArgs(b), rates...)
		if b.Extra != nil {
			args = append(args, batchArgs(*b.Extra)...)
		}
		out, err = t.call(t.step, lessTraining, args...)
	}
	if err != nil {
		return m, err
	}
	values := arrayOf("", out[0]).values
	m = measured{values[0], values[1], values[2], map[string]Number{}}
	for i, g := range t.groups {
		m.updates[g.Optimiser] = Number(values[3+i])
	}
	return m, nil
}

// batchArgs are tokens, targets and mask.
func batchArgs(b datasets.Batch) []any {
	return []any{ids(b.Inputs, b), ids(b.Targets, b), tensors.FromFlatDataAndDimensions(b.Mask, b.Rows, b.T)}
}

// partArgs are what gatherGraph takes for the i-th of equal parts of a batch.
func partArgs(b datasets.Batch, i, parts int) []any {
	rows := b.Rows / parts
	lo, hi := i*rows*b.T, (i+1)*rows*b.T
	part := datasets.Batch{Rows: rows, T: b.T, Inputs: b.Inputs[lo:hi], Targets: b.Targets[lo:hi], Mask: b.Mask[lo:hi]}
	scored := float32(0)
	for _, m := range b.Mask {
		scored += m
	}
	args := append(batchArgs(part), float32(math.Max(float64(scored), 1)))
	if b.Extra != nil {
		args = append(args, partArgs(*b.Extra, i, parts)...)
	}
	return args
}

func ids(x []int32, b datasets.Batch) *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(x, b.Rows, b.T)
}
