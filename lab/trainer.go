package lab

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	gomodel "github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/layers/kernels"
	"github.com/kalmarz/kalmarz/layers/model"
	"github.com/kalmarz/kalmarz/layers/optim"
	"github.com/kalmarz/kalmarz/layers/param"
)

// trainer holds the parameters of one model and its compiled graphs. It serves
// every seed, and every experiment whose graphs are the same.
type trainer struct {
	be     compute.Backend
	e      *Experiment
	set    *param.Set
	opt    optim.Optimiser // nil before the first step
	groups []optim.Group   // likewise

	step          executor // of a whole batch, or
	gather, apply executor // of its parts, and then for all
	predict       executor

	called map[executor][]shapes.Shape // with what last
	memory *Memory                     // the most that a called program takes of a device; nil where the compiler does not say
}

// inits are the rules by which projections may start; nil is param's own.
var inits = map[string]func(in, out int) param.Init{
	"torch":  nil,
	"normal": func(int, int) param.Init { return param.Normal(0.02) },
	"xavier": func(in, out int) param.Init { return param.Xavier(math.Pow(2, -2.5), in, out) },
}

func newTrainer(be compute.Backend, e *Experiment) (*trainer, error) {
	t := &trainer{be: be, e: e, called: map[executor][]shapes.Shape{}, set: param.NewSet(e.dtype(), 0, inits[e.Word("init")])}
	if e.Word("residual_init") == "scaled" {
		t.set.Residual = 1 / math.Sqrt(2*float64(e.Int("layers")))
	}
	var err, errGather, errApply error
	t.step, err = gomodel.NewExec(be, t.set.Store, t.stepGraph)
	t.gather, errGather = gomodel.NewExec(be, t.set.Store, t.gatherGraph)
	t.apply, errApply = gomodel.NewExec(be, t.set.Store, t.applyGraph)
	if err := errors.Join(err, errGather, errApply); err != nil {
		return nil, fmt.Errorf("training graph: %w", err)
	}
	predict, err := gomodel.NewExec(be, t.set.Store, t.predictGraph)
	if err != nil {
		return nil, fmt.Errorf("evaluation graph: %w", err)
	}
	predict.SetMaxCache(-1)
	t.predict = predict
	return t, nil
}

// call runs a graph. less is what takes less memory.
func (t *trainer) call(graph executor, less string, args ...any) ([]*tensors.Tensor, error) {
	var given []shapes.Shape
	for _, a := range args {
		if x, is := a.(*tensors.Tensor); is {
			given = append(given, x.Shape())
		} else { // a rate, or a count
			given = append(given, shapes.Make(dtypes.FromAny(a)))
		}
	}
	if err := t.compile(graph, less, given); err != nil {
		return nil, err
	}
	out, err := graph.Call(args...)
	if err != nil {
		return nil, explain(err, less)
	}
	return out, nil
}

// compile compiles a graph for arguments of some shapes unless they are those of its
// last call: without kernels if the compiler refuses them. It notes what the program
// takes, and is an error if that is more than there is.
func (t *trainer) compile(graph executor, less string, given []shapes.Shape) error {
	if slices.EqualFunc(given, t.called[graph], shapes.Shape.Equal) {
		return nil
	}
	var g *Graph
	err := kernels.Attempt(t.be, func() (err error) {
		g, err = graph.Compile(given...)
		return err
	})
	if err != nil {
		return explain(err, less)
	}
	if err := fits(g); err != nil {
		return &memoryError{err.Error() + "; " + less}
	}
	t.called[graph] = given
	if m := deviceMemory(g.Executable()); m != nil && (t.memory == nil || m.Bytes > t.memory.Bytes) {
		t.memory = m
	}
	return nil
}

// close gives back what the trainer has on the device.
func (t *trainer) close() {
	for _, graph := range []executor{t.step, t.gather, t.apply, t.predict} {
		graph.Finalize()
	}
	t.set.Store.Finalize()
}

// predictGraph takes tokens and targets [B,T], and returns the likeliest classes
// and -ln p of the targets, both [B,T].
func (t *trainer) predictGraph(_ *gomodel.Scope, in []*Node) []*Node {
	logits := t.logits(in[0])
	return []*Node{model.Predict(logits), ConvertDType(model.NLL(logits, in[1]), dtypes.Float32)}
}

// reset starts a run of e: parameters as under the seed, an empty optimiser.
// e must have the trainer's graphs.
func (t *trainer) reset(e *Experiment, seed uint64) error {
	if err := t.set.Reset(seed); err != nil {
		return err
	}
	if t.opt != nil {
		if err := t.opt.Clear(t.set.Store.RootScope()); err != nil {
			return err
		}
	}
	if err := optim.ClearAccumulated(t.set.Store); err != nil {
		return err
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
	t.e, t.called, t.memory = e, map[executor][]shapes.Shape{}, nil
	return nil
}

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
