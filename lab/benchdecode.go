package lab

import (
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	gomodel "github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/option"
)

func prefillRows(o option.Values, _ bool) ([]benchCase, error) {
	return inferenceRows(o, BenchRow{Bench: "prefill", Pass: "forward"}, func(m *benchModel, B, T int) func(be compute.Backend) (*timed, error) {
		return func(be compute.Backend) (*timed, error) { return m.openPrefill(be, B, T) }
	})
}

func decodeRows(o option.Values, _ bool) ([]benchCase, error) {
	return inferenceRows(o, BenchRow{Bench: "decode", Pass: "a token"}, func(m *benchModel, B, T int) func(be compute.Backend) (*timed, error) {
		return func(be compute.Backend) (*timed, error) { return m.openDecode(be, B, T, o.Int("steps")) }
	})
}

func inferenceRows(o option.Values, row BenchRow, open func(m *benchModel, B, T int) func(be compute.Backend) (*timed, error)) ([]benchCase, error) {
	z, err := sizesOf(o)
	if err != nil {
		return nil, err
	}
	Ts, err := lengths(o.Word("T"), z.contexts)
	if err != nil {
		return nil, err
	}
	B := o.Int("B")
	return modelRows(o, row, Ts, B, z, true, func(m *benchModel, T int) func(be compute.Backend) (*timed, error) { return open(m, B, T) })
}

// openPrefill compiles the reading of a prompt [B,T]: the logits of its last
// token and the states.
func (m *benchModel) openPrefill(be compute.Backend, B, T int) (*timed, error) {
	begun := time.Now()
	if err := m.open(be); err != nil {
		return nil, err
	}
	args, err := onDevice(be, func(g *Graph) []*Node { return []*Node{someTokens(g, m.e.Task.Info().Vocab, B, T)} })
	if err != nil {
		return nil, err
	}
	prepared := time.Since(begun)
	flops, made := 0.0, 0.0
	exec, err := gomodel.NewExec(be, m.t.set.Store, func(_ *gomodel.Scope, in []*Node) []*Node {
		logits, states := m.e.Model.Prefill(m.t.set.At(in[0].Graph()), m.e.form(), in[0], nil)
		out := append([]*Node{logits}, m.flat(states, T)...)
		flops, made = grad.ProductFLOPs(in[0].Graph()), bytesOf(out)
		return append([]*Node{glance(logits)}, out...)
	})
	if err != nil {
		return nil, err
	}
	x, err := calling(exec, args)
	if err != nil {
		return nil, err
	}
	x.flops, x.prepared, x.together = flops, prepared, false // a prompt waits for its own answer
	x.bytes += made + 4*float64(m.t.set.Count())
	return x, nil
}

// openDecode compiles steps tokens, each the likeliest after the one before, on
// states as after T tokens. The states stay on the device from call to call; the
// tokens are read. The values in the states are made up: no time depends on them.
func (m *benchModel) openDecode(be compute.Backend, B, T, steps int) (*timed, error) {
	begun := time.Now()
	if err := m.open(be); err != nil {
		return nil, err
	}
	args, err := onDevice(be, func(g *Graph) []*Node {
		return append([]*Node{someTokens(g, m.e.Task.Info().Vocab, B, 1)}, m.someStates(g, B, T)...)
	})
	if err != nil {
		return nil, err
	}
	if steps == 0 {
		steps = 1
		if grad.GPU(NewGraph(be, "device")) {
			steps = 4
		}
	}
	x := &timed{prepared: time.Since(begun), steps: steps}
	exec, err := gomodel.NewExec(be, m.t.set.Store, func(_ *gomodel.Scope, in []*Node) []*Node {
		scope, token, states := m.t.set.At(in[0].Graph()), in[0], m.shaped(in[1:], T)
		var tokens []*Node
		for range steps {
			var logits *Node
			logits, states = m.e.Model.Apply(scope, m.e.form(), token, states)
			token = ArgMax(logits, -1, dtypes.Int32)
			tokens = append(tokens, token)
		}
		out := m.flat(states, T)
		x.flops, x.bytes = grad.ProductFLOPs(scope.Graph)/float64(steps), 2*bytesOf(out)
		return append([]*Node{token, Concatenate(tokens, 1)}, out...)
	})
	if err != nil {
		return nil, err
	}
	given, _ := shapesOf(args)
	if x.graph, err = exec.Compile(given...); err != nil {
		return nil, err
	}
	x.bytes += 4 * float64(m.t.set.Count())
	x.call = func() error {
		in := make([]any, len(args))
		for i, a := range args {
			if in[i], err = DonateTensorBuffer(a, be, 0); err != nil {
				return err
			}
		}
		out, err := exec.Call(in...)
		if err != nil {
			return err
		}
		args = append([]*tensors.Tensor{out[0]}, out[2:]...)
		_, err = tensors.CopyFlatData[int32](out[1])
		return finalize(out[1:2], err)
	}
	x.close = func() {
		finalize(args, nil)
		exec.Finalize()
	}
	return x, nil
}

// someTokens are ids [B,T] below V.
func someTokens(g *Graph, V, B, T int) *Node {
	ids := Floor(MulScalar(AddScalar(wave(g, 0.37, B, T), 1), float64(V)/2))
	return ConvertDType(MinScalar(ids, float64(V-1)), dtypes.Int32)
}

// someStates are all layers' states after T tokens, as flat has them.
func (m *benchModel) someStates(g *Graph, B, T int) []*Node {
	var all []mixer.State
	for _, slots := range m.e.Model.Slots(T) {
		state := mixer.StartState(g, slots, B, dtypes.Float32)
		for _, s := range slots {
			x := state[s.Name]
			if s.Name == "t" { // counts tokens
				state[s.Name] = AddScalar(x, float64(T))
				continue
			}
			values := MulScalar(wave(g, 0.37, x.Shape().Dimensions...), 0.1)
			state[s.Name] = Add(x, ConvertDType(values, x.DType()))
		}
		all = append(all, state)
	}
	return m.flat(all, T)
}

// flat lists the arrays of all layers' states.
func (m *benchModel) flat(states []mixer.State, T int) (out []*Node) {
	for i, slots := range m.e.Model.Slots(T) {
		out = append(out, inOrder(slots, states[i])...)
	}
	return out
}

// shaped undoes flat.
func (m *benchModel) shaped(xs []*Node, T int) (out []mixer.State) {
	for _, slots := range m.e.Model.Slots(T) {
		state := mixer.State{}
		for _, s := range slots {
			state[s.Name], xs = xs[0], xs[1:]
		}
		out = append(out, state)
	}
	return out
}
