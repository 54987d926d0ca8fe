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
	"github.com/kalmarz/kalmarz/layers/route"
)

// Config describes a model.
type Config struct {
	Vocab, Classes int     // input ids in [0, Vocab), logits over Classes
	Width          int     // D
	Layers         []Layer // one entry a block
	MLP            int     // hidden width of the MLP; 0 leaves it out
	NormEps        float64
	Tied           bool              // the head is the embedding's transpose; needs Vocab = Classes
	FromLast       bool              // every position is answered from the last one's vector; needs an even width
	BFloat16       bool              // mixers, MLPs and head read bfloat16; parameters, residual stream, norms and logits stay as they are
	Route          string            // what layers pass to others besides the residual stream, of package route; "" = none
	RouteOptions   map[string]string // of the router
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
	hidden []int // widths of the blocks' MLPs; 0 = none
	router route.Router
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
	case c.FromLast && c.Width%2 != 0:
		return nil, fmt.Errorf("model: width = %d: must be even to decode positions from the last one", c.Width)
	}
	for i, l := range c.Layers {
		built, err := mixer.New(l.Mixer, c.Width, l.Options)
		if err != nil {
			return nil, fmt.Errorf("layer %d: %w", i+1, err)
		}
		m.mixers = append(m.mixers, built)
		m.hidden = append(m.hidden, c.MLP)
	}
	return m, m.setRoute()
}

// LayerScope is the scope of a block's mixer, counted from 0.
func LayerScope(s param.Scope, i int) param.Scope {
	return s.In(fmt.Sprintf("layers/%d", i)).In("mixer")
}

// Apply maps tokens [B,T] to logits [B,T,V] and the layers' states after them;
// states are nil at the start of a sequence.
func (m *Model) Apply(s param.Scope, form delta.Form, tokens *Node, states []mixer.State) (*Node, []mixer.State) {
	return m.Watch(s, form, tokens, states, nil)
}

// Watch is Apply that hands on what the layers offer: of, if not nil, returns
// who receives the offers of a layer, counted from 0, or nil.
func (m *Model) Watch(s param.Scope, form delta.Form, tokens *Node, states []mixer.State, of func(layer int) func(name string, value *Node)) (*Node, []mixer.State) {
	p := m.pass(of)
	h, after := m.trunk(s, form, tokens, states, p)
	return m.finish(s, h, p), after
}

// trunk returns the residual stream [B,T,D] after the last block's mixer, and
// the layers' states.
func (m *Model) trunk(s param.Scope, form delta.Form, tokens *Node, states []mixer.State, p *pass) (*Node, []mixer.State) {
	h := Gather(m.embedding(s), InsertAxes(tokens, -1))
	after := make([]mixer.State, len(m.mixers))
	for i, l := range m.mixers {
		if i > 0 {
			h = p.leave(s, i-1, m.feedForward(s, i-1, h))
		}
		c := mixer.Context{Scope: LayerScope(s, i), Form: form}
		p.listen(&c, s, i)
		var state mixer.State
		if states != nil {
			state = states[i]
		}
		var y *Node
		y, after[i] = mixer.Apply(l, c, m.norm(s.In(fmt.Sprintf("layers/%d", i)), "mixer_norm", h), state)
		h = Add(h, ConvertDType(y, h.DType()))
	}
	return h, after
}

// finish takes what trunk returns to logits.
func (m *Model) finish(s param.Scope, h *Node, p *pass) *Node {
	last := len(m.mixers) - 1
	h = p.leave(s, last, m.feedForward(s, last, h))
	if m.FromLast {
		return m.decode(s, m.embedding(s), h)
	}
	return m.head(s, m.embedding(s), m.norm(s, "norm", h))
}

func (m *Model) embedding(s param.Scope) *Node {
	return s.Get("embedding", param.Embedding, param.Normal(0.02), m.Vocab, m.Width)
}

// feedForward is a block's second half.
func (m *Model) feedForward(s param.Scope, i int, h *Node) *Node {
	if m.hidden[i] == 0 {
		return h
	}
	block := s.In(fmt.Sprintf("layers/%d", i))
	return Add(h, ConvertDType(m.mlp(block.In("mlp"), m.norm(block, "mlp_norm", h), m.hidden[i]), h.DType()))
}

func (m *Model) head(s param.Scope, embedding, h *Node) *Node {
	if m.Tied {
		return grad.ProjectWide(h, Transpose(embedding, 0, 1))
	}
	return grad.ProjectWide(h, s.Get("head", param.Embedding, s.Set.Linear(m.Width, m.Classes), m.Width, m.Classes))
}

// norm normalises the residual stream, in its own type, for what reads it.
func (m *Model) norm(s param.Scope, name string, x *Node) *Node {
	y := grad.RMSNorm(x, s.In(name).Get("weight", param.Vector, param.Constant(1), m.Width), m.NormEps)
	if m.BFloat16 {
		return ConvertDType(y, dtypes.BFloat16)
	}
	return y
}

func (m *Model) mlp(s param.Scope, x *Node, hidden int) *Node {
	w1 := s.Projection("w1", false, m.Width, hidden)
	w2 := s.Projection("w2", false, m.Width, hidden)
	w3 := s.Projection("w3", true, hidden, m.Width)
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
	set, g, err := m.build(be, form, T)
	if err != nil {
		return c, err
	}
	defer g.Finalize()
	c.FLOPs = grad.ProductFLOPs(g) / float64(T)
	for _, slots := range m.Slots(T) {
		c.StateBytes += mixer.Bytes(slots)
	}
	c.Parameters, c.Length = set.Count(), T
	return c, nil
}

// Entries are the model's parameters, with some initial values.
func (m *Model) Entries(be compute.Backend) ([]*param.Entry, error) {
	set, g, err := m.build(be, delta.Form{}, 4)
	if err != nil {
		return nil, err
	}
	g.Finalize()
	return set.Entries(), nil
}

// build makes the forward pass of one sequence of length T and its parameters.
func (m *Model) build(be compute.Backend, form delta.Form, T int) (set *param.Set, g *Graph, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("model: %v", r)
		}
	}()
	set, g = param.NewSet(dtypes.Float32, 0, nil), NewGraph(be, "model")
	m.Apply(set.At(g), form, Parameter(g, "tokens", shapes.Make(dtypes.Int32, 1, T)), nil)
	return set, g, nil
}
