package model

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	gomodel "github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/param"
)

var hybrid = Config{
	Vocab: 11, Classes: 7, Width: 8, MLP: 12, NormEps: 1e-5,
	Layers: []Layer{
		{"kaczmarz", map[string]string{"heads": "2", "dk": "4", "dv": "3"}},
		{"softmax", map[string]string{"heads": "2"}},
	},
}

// TestDecodeEqualsTheFullPass feeds tokens one by one, carrying all layers'
// states in and out of the graph.
func TestDecodeEqualsTheFullPass(t *testing.T) {
	const B, T = 2, 9
	m, err := New(hybrid)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(4, 4))
	tokens := make([]int32, B*T)
	for i := range tokens {
		tokens[i] = rng.Int32N(11)
	}
	set := param.NewSet(dtypes.Float64, 3, nil)
	full := gomodel.MustNewExec(check.Backend(), set.Store, func(_ *gomodel.Scope, x *Node) *Node {
		y, _ := m.Apply(set.At(x.Graph()), delta.Form{}, x, nil)
		return y
	})
	want := tensors.MustCopyFlatData[float64](full.MustCall1(tensors.FromFlatDataAndDimensions(tokens, B, T)))

	slots := m.Slots(T)
	step := gomodel.MustNewExec(check.Backend(), set.Store, func(_ *gomodel.Scope, in []*Node) []*Node {
		y, after := m.Apply(set.At(in[0].Graph()), delta.Form{}, in[0], unpack(slots, in[1:]))
		return append([]*Node{y}, pack(slots, after)...)
	})
	var state []any
	for i := range slots {
		for _, s := range slots[i] {
			n := B
			for _, d := range s.Dims {
				n *= d
			}
			state = append(state, tensors.FromFlatDataAndDimensions(make([]float64, n), append([]int{B}, s.Dims...)...))
		}
	}
	for at := range T {
		column := []int32{tokens[at], tokens[T+at]}
		out := step.MustCall(append([]any{tensors.FromFlatDataAndDimensions(column, B, 1)}, state...)...)
		got := tensors.MustCopyFlatData[float64](out[0])
		for b := range B {
			if e := check.RelErr(got[b*7:(b+1)*7], want[(b*T+at)*7:(b*T+at+1)*7]); !(e < 1e-12) {
				t.Errorf("token %d, row %d: logits are off by %.2g", at, b, e)
			}
		}
		for i := range state {
			state[i] = out[1+i]
		}
	}
}

func TestLossEqualsThePlainLoop(t *testing.T) {
	const rows, V = 6, 5
	rng := rand.New(rand.NewPCG(2, 3))
	logits := check.Random(rng, 30, 2, 3, V)
	targets, mask := make([]int32, rows), make([]float32, rows)
	want, scored := 0.0, 0.0
	for i := range rows {
		targets[i], mask[i] = rng.Int32N(V), float32(i%2)
		if i%2 == 0 {
			continue
		}
		sum := 0.0
		for _, x := range logits.Values[i*V : (i+1)*V] {
			sum += math.Exp(x - logits.Values[i*V+int(targets[i])])
		}
		want += math.Log(sum)
		scored++
	}
	exec := MustNewExec(check.Backend(), func(x, y, m *Node) *Node { return Loss(x, y, m) })
	got := tensors.ToScalar[float64](exec.MustCall1(logits.Tensor(), tensors.FromFlatDataAndDimensions(targets, 2, 3), tensors.FromFlatDataAndDimensions(mask, 2, 3)))
	if math.Abs(got-want/scored) > 1e-12*want {
		t.Errorf("loss %g, want %g", got, want/scored)
	}
	nothing := exec.MustCall1(logits.Tensor(), tensors.FromFlatDataAndDimensions(targets, 2, 3), tensors.FromFlatDataAndDimensions(make([]float32, rows), 2, 3))
	if got := tensors.ToScalar[float64](nothing); got != 0 {
		t.Errorf("with nothing scored the loss is %g, want 0", got)
	}
}

// TestCost counts a model by hand: parameters, state, and products of a stack
// without recurrence.
func TestCost(t *testing.T) {
	m, err := New(Config{Vocab: 11, Classes: 7, Width: 8, MLP: 12, NormEps: 1e-5, Layers: []Layer{{"softmax", map[string]string{"heads": "2", "rope": "false"}}}})
	if err != nil {
		t.Fatal(err)
	}
	const T = 10
	c, err := m.Cost(check.Backend(), delta.Form{}, T)
	if err != nil {
		t.Fatal(err)
	}
	if want := 11*8 + 4*8*8 + 3*8*12 + 3*8 + 8*7; c.Parameters != want {
		t.Errorf("%d parameters, want %d", c.Parameters, want)
	}
	if want := 4 * (2*T*8 + 1); c.StateBytes != want {
		t.Errorf("%d bytes of state, want %d", c.StateBytes, want)
	}
	if want := 2.0 * (4*8*8 + 3*8*12 + 8*7 + 2*T*8); c.FLOPs != want {
		t.Errorf("%g FLOPs a token, want %g", c.FLOPs, want)
	}
}

func TestConfigErrors(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"model: width = 0: must be at least 1":         func(c *Config) { c.Width = 0 },
		"model: no layers":                             func(c *Config) { c.Layers = nil },
		"model: tied = true: needs as many classes":    func(c *Config) { c.Tied = true },
		"model: 0 input ids":                           func(c *Config) { c.Vocab = 0 },
		"layer 2: unknown mixer \"sofmax\": known are": func(c *Config) { c.Layers = []Layer{c.Layers[1], {Mixer: "sofmax"}} },
	} {
		c := hybrid
		change(&c)
		if _, err := New(c); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
