package model

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	gomodel "github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/kernels"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/param"
)

// Decoder reads one sequence in pieces of any length and carries the layers' states
// from piece to piece, on the device. What it returns after a token is what Apply
// gives there for the whole sequence.
type Decoder struct {
	model *Model
	be    compute.Backend
	exec  *gomodel.Exec
	slots [][]mixer.Slot
	state []any // [1, ...] each, in the order of slots
	left  int   // tokens for which there is room
	ready int   // tokens of a piece for which it is compiled
}

// NewDecoder starts a sequence of at most room tokens with the parameters of set,
// which must have their values. Models that answer from the last position alone
// cannot be decoded.
func (m *Model) NewDecoder(be compute.Backend, set *param.Set, form delta.Form, room int) (*Decoder, error) {
	switch {
	case m.FromLast:
		return nil, fmt.Errorf("model: it answers every position from the last one: there is nothing to decode token by token")
	case room < 1:
		return nil, fmt.Errorf("model: room for %d tokens: must be at least 1", room)
	}
	d := &Decoder{model: m, be: be, slots: m.Slots(room), left: room}
	var err error
	d.exec, err = gomodel.NewExec(be, set.Store, func(_ *gomodel.Scope, in []*Node) []*Node {
		s := set.At(in[0].Graph())
		p := m.pass(nil)
		h, after := m.trunk(s, form, in[0], unpack(d.slots, in[1:]), p)
		p.each(lastToken)
		logits := m.finish(s, lastToken(h), p)
		// The logits come last, as in Probe.
		return append(pack(d.slots, after), Reshape(ConvertDType(logits, dtypes.Float32), -1))
	})
	if err == nil {
		d.state, err = m.start(be, set, d.slots)
	}
	return d, err
}

// Read takes the next tokens of the sequence and returns the logits [V] after the
// last of them.
func (d *Decoder) Read(tokens []int32) ([]float32, error) {
	if n := len(tokens); n == 0 || n > d.left {
		return nil, fmt.Errorf("model: %d tokens: must be 1 to %d, for which there is room", n, d.left)
	}
	for i, id := range tokens {
		if id < 0 || int(id) >= d.model.Vocab {
			return nil, fmt.Errorf("model: token %d is %d: must be in [0, %d)", i, id, d.model.Vocab)
		}
	}
	in := tensors.FromFlatDataAndDimensions(tokens, 1, len(tokens))
	if err := d.compile(in.Shape()); err != nil { // before the state is given away
		return nil, err
	}
	args := []any{in}
	for _, x := range d.state { // the new state may take the place of the old
		given, err := DonateTensorBuffer(x.(*tensors.Tensor), d.be, 0)
		if err != nil {
			return nil, err
		}
		args = append(args, given)
	}
	out, err := d.exec.Call(args...)
	if err != nil {
		return nil, err
	}
	for i := range d.state {
		d.state[i] = out[i]
	}
	d.left -= len(tokens)
	return tensors.MustCopyFlatData[float32](out[len(d.state)]), nil
}

// compile compiles for pieces of a shape unless the last one had it, without kernels
// if the compiler refuses them.
func (d *Decoder) compile(piece shapes.Shape) error {
	if piece.Dim(1) == d.ready {
		return nil
	}
	given := []shapes.Shape{piece}
	for _, x := range d.state {
		given = append(given, x.(*tensors.Tensor).Shape())
	}
	err := kernels.Attempt(d.be, func() error {
		_, err := d.exec.Compile(given...)
		return err
	})
	if err == nil {
		d.ready = piece.Dim(1)
	}
	return err
}

// lastToken is x [B,1,...] of x [B,T,...].
func lastToken(x *Node) *Node { return SliceAxis(x, 1, AxisElem(x.Shape().Dim(1)-1)) }

// Close gives back what was compiled.
func (d *Decoder) Close() { d.exec.Finalize() }

// unpack makes the layers' states of arrays in the order of slots.
func unpack(slots [][]mixer.Slot, in []*Node) []mixer.State {
	states := make([]mixer.State, len(slots))
	for i, layer := range slots {
		states[i] = mixer.State{}
		for _, s := range layer {
			states[i][s.Name], in = in[0], in[1:]
		}
	}
	return states
}

// pack lists the arrays of the layers' states in the order of slots.
func pack(slots [][]mixer.Slot, states []mixer.State) (out []*Node) {
	for i, layer := range slots {
		for _, s := range layer {
			out = append(out, states[i][s.Name])
		}
	}
	return out
}
