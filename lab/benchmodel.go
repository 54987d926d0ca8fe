package lab

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	gomodel "github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/datasets"
	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
)

// modelSizes are what bench's keys say of a model, filled in by its width.
type modelSizes struct {
	layers, width, vocab, heads, mlp int
	batch, length                    int    // of a training step
	contexts                         string // of prefill and decode
}

var modelName = regexp.MustCompile(`^([1-9][0-9]{0,2})x([1-9][0-9]{0,4})$`)

func sizesOf(o option.Values) (z modelSizes, err error) {
	m := modelName.FindStringSubmatch(o.Word("model"))
	if m == nil {
		return z, fmt.Errorf("model = %s: must be layers x width, as 12x768", o.Word("model"))
	}
	z.layers, _ = strconv.Atoi(m[1])
	z.width, _ = strconv.Atoi(m[2])
	z.mlp = (z.width*8/3 + 63) / 64 * 64
	z.heads, z.vocab, z.batch, z.length, z.contexts = max(2, z.width/64), 64, 8, 64, "64,256,1024"
	if z.width >= 256 {
		z.vocab, z.batch, z.length, z.contexts = 8192, 16, 2048, "1024,4096,16384,65536"
	}
	if z.width >= 512 {
		z.vocab = 32768
	}
	for key, value := range map[string]*int{"heads": &z.heads, "vocab": &z.vocab, "B": &z.batch} {
		if n := o.Int(key); n > 0 {
			*value = n
		}
	}
	return z, nil
}

// benchModel is a model with its parameters, which several rows may share.
type benchModel struct {
	e *Experiment
	t *trainer
}

// experiment is the training of a model on recall rows of T tokens.
func (z modelSizes) experiment(o option.Values, mixer string, B, T int) (*Experiment, error) {
	k, err := findMixer(mixer)
	if err != nil {
		return nil, err
	}
	words := []string{"task=mqar", "sizes=own", "mixer=" + mixer, "precision=" + o.Word("precision")}
	for key, value := range map[string]int{
		"task.vocab": z.vocab, "task.len": max(T, 4), "task.pairs": max(1, min(T/8, z.vocab/4)),
		"layers": z.layers, "width": z.width, "mlp": z.mlp, "batch": B,
	} {
		words = append(words, fmt.Sprintf("%s=%d", key, value))
	}
	for key, value := range evenSizes(k, z.heads) {
		words = append(words, "mixer."+key+"="+value)
	}
	switch form := o.Word("form"); form {
	case "all", "chosen":
	case "recurrent", "kernel":
		words = append(words, "form="+form)
	default:
		return nil, fmt.Errorf("form = %s: of models it must be chosen, recurrent or kernel", form)
	}
	return Parse(words)
}

func (m *benchModel) open(be compute.Backend) (err error) {
	if m.t == nil {
		m.t, err = newTrainer(be, m.e)
	}
	if err != nil {
		return err
	}
	g := NewGraph(be, "parameters") // is not run: it makes the parameters
	m.e.Model.Apply(m.t.set.At(g), m.e.form(), Zeros(g, shapes.Make(dtypes.Int32, 1, 1)), nil)
	return nil
}

func (m *benchModel) close() {
	if m.t != nil {
		m.t.close()
		m.t = nil
	}
}

// modelDType says in which type products of a model are.
func modelDType(o option.Values) string {
	if o.Word("precision") == "bf16" {
		return "bfloat16"
	}
	return "float32"
}

// modelRows makes a row for each mixer and length. The rows of a mixer share a
// model if they can.
func modelRows(o option.Values, row BenchRow, Ts []int, B int, z modelSizes, share bool, open func(m *benchModel, T int) func(be compute.Backend) (*timed, error)) (out []benchCase, err error) {
	kinds, err := chosenMixers(o)
	if err != nil {
		return nil, err
	}
	for _, k := range kinds {
		var m *benchModel
		for _, T := range Ts {
			if m == nil || !share {
				var e *Experiment
				e, err = z.experiment(o, k.Name, B, T)
				m = &benchModel{e: e}
			}
			row := row
			row.What, row.Form, row.DType = k.Name, o.Word("model"), modelDType(o)
			if form := o.Word("form"); form != "all" {
				row.Form += ", " + form
			}
			row.Shape = Shape{"B": B, "T": T, "V": z.vocab}
			out = append(out, benchCase{BenchRow: row, open: open(m, T), shared: m, cannot: err})
			out[len(out)-1].Tokens = B * T
			if row.Bench == "decode" {
				out[len(out)-1].Tokens = B
			}
		}
	}
	return out, allCannot(out)
}

func trainRows(o option.Values, _ bool) ([]benchCase, error) {
	z, err := sizesOf(o)
	if err != nil {
		return nil, err
	}
	Ts, err := lengths(o.Word("T"), strconv.Itoa(z.length))
	if err != nil {
		return nil, err
	}
	return modelRows(o, BenchRow{Bench: "train", Pass: "step"}, Ts, z.batch, z, false, func(m *benchModel, T int) func(be compute.Backend) (*timed, error) {
		return m.openTraining
	})
}

// openTraining compiles a step: forward, backward and optimiser. A call is what
// train does for a step: a batch is copied in, and loss and norms are read.
// Steps depend on each other through the parameters, which stay on the device.
func (m *benchModel) openTraining(be compute.Backend) (*timed, error) {
	begun := time.Now()
	if err := m.open(be); err != nil {
		return nil, err
	}
	b, err := m.e.Task.Batch(datasets.Train, 1, 0, m.e.Int("batch"))
	if err != nil {
		return nil, err
	}
	x := &timed{prepared: time.Since(begun), close: func() {}}
	step, err := gomodel.NewExec(be, m.t.set.Store, func(scope *gomodel.Scope, in []*Node) *Node {
		out := m.t.stepGraph(scope, in)
		x.flops = grad.ProductFLOPs(in[0].Graph())
		return out
	})
	if err != nil {
		return nil, err
	}
	m.t.step = step
	var args []*tensors.Tensor
	rate := tensors.FromScalar(float32(0))
	for _, a := range append(batchArgs(b), rate, rate) {
		args = append(args, a.(*tensors.Tensor))
	}
	given, size := shapesOf(args)
	if x.graph, err = step.Compile(given...); err != nil {
		return nil, err
	}
	// The optimiser reads and writes each weight and its two moments.
	x.bytes = size + 6*4*float64(m.t.set.Count())
	x.call = func() error {
		_, err := m.t.train(b, 1e-3, 1e-3)
		return err
	}
	return x, nil
}
