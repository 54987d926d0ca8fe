// Package param keeps a model's parameters: named arrays in a GoMLX store,
// each with the rule that initialises it and what an optimiser should know
// about it. Initial values are drawn on the host from (seed, name) alone, so
// they are the same on every backend, do not depend on the order in which a
// graph is built, and two models share the values of every parameter that they
// have in common.
package param

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/support/exceptions"
)

// Role says what a parameter is, for weight decay and for optimisers that
// treat matrices apart.
type Role uint8

const (
	Matrix    Role = iota // a hidden projection [in, out]
	Embedding             // token embedding or output head
	Vector                // norms, biases, convolutions, gates' constants: never decayed
	Fixed                 // not trained: a setting that is kept out of the compiled graph
)

// Entry is one parameter.
type Entry struct {
	Name string
	Dims []int
	Role Role
	init Init
	v    *model.Variable
}

// Variable returns the GoMLX variable behind the entry.
func (e *Entry) Variable() *model.Variable { return e.v }

// Size is the number of values.
func (e *Entry) Size() int {
	n := 1
	for _, d := range e.Dims {
		n *= d
	}
	return n
}

// Set is all the parameters of one model.
type Set struct {
	Store    *model.Store
	DType    dtypes.DType
	Seed     uint64
	Linear   func(in, out int) Init // rule for projections that name none
	Residual float64                // factor on projections into the residual stream, at first
	entries  []*Entry
	byName   map[string]*Entry
}

// NewSet returns an empty set whose parameters have the given type; linear
// initialises projections, nil means Torch.
func NewSet(dtype dtypes.DType, seed uint64, linear func(in, out int) Init) *Set {
	if linear == nil {
		linear = func(in, _ int) Init { return Torch(in) }
	}
	return &Set{Store: model.NewStore(), DType: dtype, Seed: seed, Linear: linear, Residual: 1, byName: map[string]*Entry{}}
}

// Entries lists the parameters in the order in which they were first used.
func (s *Set) Entries() []*Entry { return slices.Clone(s.entries) }

// Count is the number of trained values.
func (s *Set) Count() int {
	n := 0
	for _, e := range s.entries {
		if e.Role != Fixed {
			n += e.Size()
		}
	}
	return n
}

// Reset gives every parameter the initial value that it has under seed, and
// leaves compiled graphs valid.
func (s *Set) Reset(seed uint64) error {
	s.Seed = seed
	for _, e := range s.entries {
		if e.Role == Fixed {
			continue
		}
		if err := e.v.SetValue(s.initial(e)); err != nil {
			return fmt.Errorf("parameter %s: %w", e.Name, err)
		}
	}
	return nil
}

// SetFixed changes a setting that is a Fixed parameter.
func (s *Set) SetFixed(name string, value float64) error {
	e := s.byName[name]
	if e == nil || e.Role != Fixed {
		return fmt.Errorf("parameter %s: not a setting of this model", name)
	}
	e.init = Constant(value)
	return e.v.SetValue(s.initial(e))
}

func (s *Set) initial(e *Entry) *tensors.Tensor {
	h := fnv.New64a()
	h.Write([]byte(e.Name))
	values := make([]float64, e.Size())
	e.init(rand.New(rand.NewPCG(s.Seed, h.Sum64())), values)
	if s.DType == dtypes.Float64 {
		return tensors.FromFlatDataAndDimensions(values, e.Dims...)
	}
	narrow := make([]float32, len(values))
	for i, v := range values {
		narrow[i] = float32(v)
	}
	return tensors.FromFlatDataAndDimensions(narrow, e.Dims...)
}

// Scope names parameters under a path while a graph is built.
type Scope struct {
	Set   *Set
	Graph *graph.Graph
	path  string
}

// At returns the root scope for building g.
func (s *Set) At(g *graph.Graph) Scope { return Scope{Set: s, Graph: g} }

// In returns a scope below this one.
func (s Scope) In(name string) Scope {
	s.path = path.Join(s.path, name)
	return s
}

// Name returns the full name of a parameter in this scope.
func (s Scope) Name(name string) string { return path.Join(s.path, name) }

// Get returns a parameter, which the first call makes. Later calls must agree
// on its dimensions.
func (s Scope) Get(name string, role Role, init Init, dims ...int) *graph.Node {
	name = s.Name(name)
	e := s.Set.byName[name]
	if e == nil {
		e = &Entry{Name: name, Dims: dims, Role: role, init: init}
		e.v = s.Set.Store.VariableWithValue("/"+name, s.Set.initial(e))
		e.v.SetTrainable(role != Fixed)
		s.Set.entries = append(s.Set.entries, e)
		s.Set.byName[name] = e
	}
	if !slices.Equal(e.Dims, dims) {
		exceptions.Panicf("parameter %s is %v, expected %v", name, e.Dims, dims)
	}
	return e.v.NodeValue(s.Graph)
}

// Projection returns a matrix [in, out] that starts by the set's own rule;
// residual ones lead into the residual stream.
func (s Scope) Projection(name string, residual bool, in, out int) *graph.Node {
	init := s.Set.Linear(in, out)
	if residual {
		init = Scaled(s.Set.Residual, init)
	}
	return s.Get(name, Matrix, init, in, out)
}

// Setting returns a number as a parameter that is not trained, so that models
// which differ in it alone share a compiled graph.
func (s Scope) Setting(name string, value float64) *graph.Node {
	return s.Get(name, Fixed, Constant(value))
}
