package mixer

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/param"
)

// Context is what a layer sees while it is applied.
type Context struct {
	param.Scope
	Form delta.Form // how recurrences and attention are evaluated
	// Offer, if not nil, receives named per-token values: the value "v"
	// [B,T,H,V] that is written, of a delta rule the error that is written in its
	// place, "u" = z - S̃ᵀe, and without its gate, "r" = v - S̃ᵀk, and what probes
	// look at. Wants, if not nil, says which: the others are not made.
	Offer func(name string, value *Node)
	Wants func(name string) bool
	// Write, if not nil, replaces the value v [B,T,H,V] where it is written: after
	// projection, short convolution and activation, before the write gate. What
	// else a mixer does with the value (Mamba's skip, mLSTM's gates) stays.
	Write func(v *Node) *Node

	slots   []Slot
	in, out State
	batch   int
}

// Apply runs a layer on x [B,T,D] and returns y and the state after it.
func Apply(l Layer, c Context, x *Node, state State) (*Node, State) {
	c.slots, c.in, c.out, c.batch = l.Slots(x.Shape().Dim(1)), state, State{}, x.Shape().Dim(0)
	y := l.Apply(&c, x)
	for _, s := range c.slots {
		if c.out[s.Name] == nil {
			exceptions.Panicf("mixer: the layer left slot %q of its state unset", s.Name)
		}
	}
	return y, c.out
}

// Carried returns a slot of the incoming state, its start before the first
// token.
func (c *Context) Carried(name string) *Node {
	if n := c.in[name]; n != nil {
		return n
	}
	for _, s := range c.slots {
		if s.Name == name {
			return s.start(c.Graph, c.batch, wide(c.Set.DType))
		}
	}
	panic(fmt.Sprintf("mixer: no slot %q", name))
}

// Fresh tells whether this is the start of the sequence.
func (c *Context) Fresh() bool { return c.in == nil }

// Keep sets a slot of the outgoing state.
func (c *Context) Keep(name string, value *Node) { c.out[name] = value }

func (c *Context) offer(name string, value func() *Node) {
	if c.asked(name) {
		c.Offer(name, value())
	}
}

func (c *Context) asked(name string) bool {
	return c.Offer != nil && (c.Wants == nil || c.Wants(name))
}

// value is where a mixer's value v [B,T,H,V] becomes what is written.
func (c *Context) value(v *Node) *Node {
	if c.Write != nil {
		v = c.Write(v)
	}
	c.offer("v", func() *Node { return v })
	return v
}

// channels is value for v [B,T,M] without heads.
func (c *Context) channels(v *Node) *Node { return Squeeze(c.value(InsertAxes(v, 2)), 2) }
