// Package mixer holds the sequence mixers. Each is a file with its projections
// and gates; the recurrence behind them is in package delta. One contract runs
// them all:
//
//	y, state = Apply(scope, x, state)
//
// serves a whole sequence (nil state), prefill in pieces of any length, and
// decoding token by token. Splitting a sequence anywhere and carrying the state
// gives the same outputs.
//
// Shapes: B batch, T tokens, D model width, H heads, K key and V value width of
// a head.
package mixer

import (
	"fmt"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/option"
)

// Kind describes a mixer: what it is, what can be chosen, how it is built.
type Kind struct {
	Name    string
	Doc     string // one line
	Paper   string // arXiv number
	Options option.Set
	// New checks the options for model width d and returns the layer.
	New func(d int, o option.Values) (Layer, error)
	// Error is what the layer offers of the error that a delta rule corrects: "u"
	// as the recurrence writes it, "r" as well where one number scales it; "" if
	// nothing is erased.
	Error Error
	// Family and Core give the bare recurrence by the names under which its
	// arrays are published (q, k, v, beta, log_decay, ...); empty if it has none.
	Family string
	Core   func(in map[string]*Node, o option.Values) delta.Inputs
}

// Error names what a mixer offers of its write error.
type Error string

// No error; the written one alone; the written and the bare one.
const (
	NoError    Error = ""
	Written    Error = "u"
	WrittenAnd Error = "u, r"
)

// ErrorOf is what a layer of a kind offers of its error: with options that
// decide, the layer has a method Error.
func ErrorOf(k *Kind, l Layer) Error {
	if own, ok := l.(interface{ Error() Error }); ok {
		return own.Error()
	}
	return k.Error
}

// Layer is a mixer with its options fixed. It holds no arrays.
type Layer interface {
	// Apply maps x [B,T,D] to y [B,T,D], reading and writing state through c.
	Apply(c *Context, x *Node) *Node
	// Slots are the arrays of the state, without the batch axis, with room for
	// length tokens where a cache grows with the sequence.
	Slots(length int) []Slot
	// Value is the shape of what is written at a token, the offer "v":
	// heads x width, one head for mixers that have none.
	Value() (heads, width int)
}

// Slot is one array of a state.
type Slot struct {
	Name  string
	Dims  []int
	DType dtypes.DType // InvalidDType means float32, or float64 in a float64 model
	Start float64      // every value before the first token; where it is above 0, so are all later values
}

// State is a mixer's carried state by slot name, each [B, ...]. nil is the
// state before the first token.
type State map[string]*Node

// StartState returns the state before the first token for B rows.
func StartState(g *Graph, slots []Slot, B int, wide dtypes.DType) State {
	s := make(State, len(slots))
	for _, slot := range slots {
		s[slot.Name] = slot.start(g, B, wide)
	}
	return s
}

func (s Slot) start(g *Graph, B int, wide dtypes.DType) *Node {
	dtype := s.DType
	if dtype == dtypes.InvalidDType {
		dtype = wide
	}
	x := Zeros(g, shapes.Make(dtype, append([]int{B}, s.Dims...)...))
	if s.Start != 0 {
		x = AddScalar(x, s.Start)
	}
	return x
}

// Bytes is the size of one row's state.
func Bytes(slots []Slot) int {
	n := 0
	for _, slot := range slots {
		size := 4
		for _, d := range slot.Dims {
			size *= d
		}
		n += size
	}
	return n
}

func wide(t dtypes.DType) dtypes.DType {
	if t == dtypes.Float64 {
		return t
	}
	return dtypes.Float32
}

// Find returns the kind of that name, or an error that lists the known ones.
func Find(name string) (*Kind, error) {
	var names []string
	for _, k := range Registry {
		if k.Name == name {
			return k, nil
		}
		names = append(names, k.Name)
	}
	return nil, fmt.Errorf("unknown mixer %q: known are %s", name, strings.Join(names, ", "))
}

// New builds a mixer for model width d from options given as text.
func New(name string, d int, given map[string]string) (Layer, error) {
	k, err := Find(name)
	if err != nil {
		return nil, err
	}
	o, err := k.Options.Parse("mixer "+name, given)
	if err != nil {
		return nil, err
	}
	l, err := k.New(d, o)
	if err != nil {
		return nil, fmt.Errorf("mixer %s: %w", name, err)
	}
	return l, nil
}

func shapeLike(x *Node, dims ...int) shapes.Shape { return shapes.Make(x.DType(), dims...) }
