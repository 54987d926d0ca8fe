package lab

import (
	"fmt"
	"math"
	"strings"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	gomodel "github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/datasets"
	"github.com/kalmarz/kalmarz/layers/model"
	"github.com/kalmarz/kalmarz/layers/optim"
	"github.com/kalmarz/kalmarz/layers/param"
)

// trainer holds the parameters of one model and its compiled graphs. It serves
// every seed, and every experiment whose graphs are the same.
type trainer struct {
	e       *Experiment
	set     *param.Set
	adam    *optim.AdamW
	step    *gomodel.Exec
	predict *gomodel.Exec
}

// inits are the rules by which projections may start; nil is param's own.
var inits = map[string]func(in, out int) param.Init{
	"torch":  nil,
	"normal": func(int, int) param.Init { return param.Normal(0.02) },
	"xavier": func(in, out int) param.Init { return param.Xavier(math.Pow(2, -2.5), in, out) },
}

func newTrainer(be compute.Backend, e *Experiment) (*trainer, error) {
	t := &trainer{e: e, set: param.NewSet(e.dtype(), 0, inits[e.Word("init")])}
	if e.Word("residual_init") == "scaled" {
		t.set.Residual = 1 / math.Sqrt(2*float64(e.Int("layers")))
	}
	var err error
	if t.step, err = gomodel.NewExec(be, t.set.Store, t.stepGraph); err != nil {
		return nil, fmt.Errorf("training graph: %w", err)
	}
	if t.predict, err = gomodel.NewExec(be, t.set.Store, t.predictGraph); err != nil {
		return nil, fmt.Errorf("evaluation graph: %w", err)
	}
	t.predict.SetMaxCache(-1)
	return t, nil
}

// stepGraph takes tokens, targets [B,T], mask [B,T], the learning rate and, if the
// batches have extra rows, those as another three, and
// returns the loss, the gradients' norm before clipping and the norm of the
// updated parameters.
func (t *trainer) stepGraph(scope *gomodel.Scope, in []*Node) []*Node {
	g := in[0].Graph()
	logits, _ := t.e.Model.Apply(t.set.At(g), t.e.form(), in[0], nil)
	loss := model.Loss(logits, in[1], in[2])
	if len(in) > 4 { // rows of another length, whose loss is added
		logits, _ := t.e.Model.Apply(t.set.At(g), t.e.form(), in[4], nil)
		loss = Add(loss, model.Loss(logits, in[5], in[6]))
	}
	grads := scope.BuildTrainableVariablesGradientsGraph(loss)
	norm := optim.Norm(grads)
	decayed := map[string]bool{}
	for _, e := range t.set.Entries() {
		decayed[e.Variable().Path()] = e.Role == param.Matrix || e.Role == param.Embedding
	}
	t.adam = &optim.AdamW{
		LearningRate: in[3], Beta1: t.e.Float("beta1"), Beta2: t.e.Float("beta2"), Epsilon: 1e-8,
		WeightDecay: t.e.Float("wd"), Decays: func(v *gomodel.Variable) bool { return decayed[v.Path()] },
	}
	t.adam.UpdateGraphWithGradients(scope, optim.ClipNorm(grads, norm, t.e.Float("clip")), loss.DType())
	var weights []*Node
	for _, v := range optim.Trainable(scope, g) {
		weights = append(weights, v.NodeValue(g))
	}
	return []*Node{loss, norm, optim.Norm(weights)}
}

// predictGraph takes tokens and targets [B,T], and returns the likeliest classes
// and -ln p of the targets, both [B,T].
func (t *trainer) predictGraph(_ *gomodel.Scope, in []*Node) []*Node {
	logits, _ := t.e.Model.Apply(t.set.At(in[0].Graph()), t.e.form(), in[0], nil)
	return []*Node{model.Predict(logits), model.NLL(logits, in[1])}
}

// reset starts a run of e: parameters as under the seed, an empty optimiser.
// e must have the trainer's graphs.
func (t *trainer) reset(e *Experiment, seed uint64) error {
	if err := t.set.Reset(seed); err != nil {
		return err
	}
	if t.adam != nil {
		if err := t.adam.Clear(t.set.Store.RootScope()); err != nil {
			return err
		}
	}
	for _, entry := range t.set.Entries() {
		if entry.Role != param.Fixed {
			continue
		}
		name := entry.Name[strings.LastIndex(entry.Name, "/")+1:]
		for _, kv := range e.complete {
			if kv.Key == "mixer."+name && e.live[kv.Key] {
				var v float64
				if _, err := fmt.Sscan(kv.Value, &v); err != nil {
					return fmt.Errorf("%s = %s: %w", kv.Key, kv.Value, err)
				}
				if err := t.set.SetFixed(entry.Name, v); err != nil {
					return err
				}
			}
		}
	}
	t.e = e
	return nil
}

// measured is what one step reports.
type measured struct{ loss, gradNorm, weightNorm float64 }

// finite tells whether the step left everything usable, or what went wrong.
func (m measured) finite() error {
	for _, x := range []struct {
		name  string
		value float64
	}{{"loss", m.loss}, {"gradient norm", m.gradNorm}, {"weight norm", m.weightNorm}} {
		if math.IsNaN(x.value) || math.IsInf(x.value, 0) {
			return fmt.Errorf("%s is %v", x.name, x.value)
		}
	}
	return nil
}

// batchArgs are tokens, targets and mask.
func batchArgs(b datasets.Batch) []any {
	return []any{ids(b.Inputs, b), ids(b.Targets, b), tensors.FromFlatDataAndDimensions(b.Mask, b.Rows, b.T)}
}

func (t *trainer) train(b datasets.Batch, lr float64) (m measured, err error) {
	args := batchArgs(b)
	args = append(args, float32(lr))
	if b.Extra != nil {
		args = append(args, batchArgs(*b.Extra)...)
	}
	out, err := t.step.Call(args...)
	if err != nil {
		return m, oneLine(err)
	}
	values := make([]float64, len(out))
	for i, x := range out {
		values[i] = float64(tensors.ToScalar[float32](x))
	}
	return measured{values[0], values[1], values[2]}, nil
}

func ids(x []int32, b datasets.Batch) *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(x, b.Rows, b.T)
}

// oneLine drops the stack that GoMLX prints into its errors.
func oneLine(err error) error {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Errorf("%s", first)
}
