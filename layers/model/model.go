// Package model stacks mixers into a sequence model: token embedding, pre-norm
// residual blocks of a mixer and a SwiGLU MLP, a final norm and a head. There
// are no positional embeddings: order comes from the mixers.
//
//	h = E[token];  h += mixer(norm(h));  h += W₃(silu(W₁ norm(h)) ∘ W₂ norm(h))
//	logits = W norm(h)
//
// Shapes: B batch, T tokens, D width, V classes.
package model

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/param"
)

// Config describes a model.
type Config struct {
	Vocab, Classes int     // input ids in [0, Vocab), logits over Classes
	Width          int     // D
	Layers         []Layer // one entry a block
	MLP            int     // hidden width of the MLP; 0 leaves it out
	NormEps        float64
	Tied           bool // the head is the embedding's transpose; needs Vocab = Classes
}

// Layer names a block's mixer and its options.
type Layer struct {
	Mixer   string
	Options map[string]string
}

// Model is a Config whose mixers are built and checked. It holds no arrays.
type Model struct {
	Config
	mixers []mixer.Layer
}

// New checks the configuration and builds the mixers.
func New(c Config) (*Model, error) {
	m := &Model{Config: c}
	switch {
	case c.Vocab < 1 || c.Classes < 1:
		return nil, fmt.Errorf("model: %d input ids, %d classes: there must be at least one of each", c.Vocab, c.Classes)
	case c.Width < 1:
		return nil, fmt.Errorf("model: width = %d: must be at least 1", c.Width)
	case len(c.Layers) == 0:
		return nil, fmt.Errorf("model: no layers: there must be at least one")
	case c.Tied && c.Vocab != c.Classes:
		return nil, fmt.Errorf("model: tied = true: needs as many classes as input ids, have %d and %d", c.Classes, c.Vocab)
	}
	for i, l := range c.Layers {
		built, err := mixer.New(l.Mixer, c.Width, l.Options)
		if err != nil {
			return nil, fmt.Errorf("layer %d: %w", i+1, err)
		}
		m.mixers = append(m.mixers, built)
	}
	return m, nil
}

// LayerScope is the scope of a block's mixer, counted from 0.
func LayerScope(s param.Scope, i int) param.Scope {
	return s.In(fmt.Sprintf("layers/%d", i)).In("mixer")
}

// Apply maps tokens [B,T] to logits [B,T,V] and the layers' states after them;
// states are nil at the start of a sequence.
func (m *Model) Apply(s param.Scope, form delta.Form, tokens *Node, states []mixer.State) (*Node, []mixer.State) {
	embedding := s.Get("embedding", param.Embedding, param.Normal(0.02), m.Vocab, m.Width)
	h := Gather(embedding, InsertAxes(tokens, -1))
	after := make([]mixer.State, len(m.mixers))
	for i, l := range m.mixers {
		block := s.In(fmt.Sprintf("layers/%d", i))
		var state mixer.State
		if states != nil {
			state = states[i]
		}
		var y *Node
		y, after[i] = mixer.Apply(l, mixer.Context{Scope: LayerScope(s, i), Form: form}, m.norm(block, "mixer_norm", h), state)
		h = Add(h, y)
		if m.MLP > 0 {
			h = Add(h, m.mlp(block.In("mlp"), m.norm(block, "mlp_norm", h)))
		}
	}
	h = m.norm(s, "norm", h)
	if m.Tied {
		return grad.Project(h, Transpose(embedding, 0, 1)), after
	}
	return grad.Project(h, s.Get("head", param.Embedding, s.Set.Linear(m.Width), m.Width, m.Classes)), after
}

func (m *Model) norm(s param.Scope, name string, x *Node) *Node {
	return grad.RMSNorm(x, s.In(name).Get("weight", param.Vector, param.Constant(1), m.Width), m.NormEps)
}

func (m *Model) mlp(s param.Scope, x *Node) *Node {
	w1 := s.Get("w1", param.Matrix, s.Set.Linear(m.Width), m.Width, m.MLP)
	w2 := s.Get("w2", param.Matrix, s.Set.Linear(m.Width), m.Width, m.MLP)
	w3 := s.Get("w3", param.Matrix, s.Set.Linear(m.MLP), m.MLP, m.Width)
	return grad.Project(Mul(grad.SiLU(grad.Project(x, w1)), grad.Project(x, w2)), w3)
}

// Slots are the layers' states with room for length tokens.
func (m *Model) Slots(length int) [][]mixer.Slot {
	out := make([][]mixer.Slot, len(m.mixers))
	for i, l := range m.mixers {
		out[i] = l.Slots(length)
	}
	return out
}

// Cost is what a model takes.
type Cost struct {
	Parameters int     // trained values
	StateBytes int     // carried state of one sequence after Length tokens
	FLOPs      float64 // of the matrix products of one forward pass, per token
	Length     int
}

// Cost counts parameters, state and work for sequences of length T, in the
// given form; the backend only has to build the graph, nothing is run.
func (m *Model) Cost(be compute.Backend, form delta.Form, T int) (c Cost, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("model: %v", r)
		}
	}()
	set := param.NewSet(dtypes.Float32, 0, nil)
	g := NewGraph(be, "cost")
	m.Apply(set.At(g), form, Parameter(g, "tokens", shapes.Make(dtypes.Int32, 1, T)), nil)
	for _, n := range g.Nodes() {
		// All products are [n,m,k] x [n,k,p] or a transposition of it.
		if n.Type() == NodeTypeDotGeneral {
			out := n.Shape()
			k := n.Inputs()[0].Shape().Size() / (out.Dim(0) * out.Dim(1))
			c.FLOPs += 2 * float64(out.Size()) * float64(k) / float64(T)
		}
	}
	for _, slots := range m.Slots(T) {
		c.StateBytes += mixer.Bytes(slots)
	}
	c.Parameters, c.Length = set.Count(), T
	return c, nil
}
