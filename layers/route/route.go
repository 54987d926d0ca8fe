// Package route passes what one layer of a stack writes, or fails to recall, to
// others: cross-layer error routing (CLER, CLER-H, CLVR; arXiv 2607.07953) and
// its controls. Routing belongs to the stack. A router sees the layers by what
// they offer alone, and everything that it moves is of the same token: there is
// no state to carry, and decoding is as the full pass.
//
// Layer l offers at token t, on H heads of width V, flattened to HV where a
// projection reads it:
//
//	v_l    the value, after short convolution and activation, before its gate
//	u_l    the error as the recurrence writes it, z - S̃ᵀe; β r where e = βk, z = βv
//	r_l    the error itself, v - S̃ᵀk
//
// r is the paper's; what its published code routes, and its results are of, is u.
//
// Shapes: B batch, T tokens, D model width, H heads, V value width of a head.
package route

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/option"
	"github.com/kalmarz/kalmarz/layers/param"
)

// Host is a layer as a router knows it before any graph.
type Host struct {
	Mixer        string
	Heads, Value int  // shape of its value
	Error        bool // offers u: it is of the delta rule
	Bare         bool // offers r too
}

// Layers are what a router is for.
type Layers struct {
	Width int // D
	Hosts []Host
}

// Kind describes a router.
type Kind struct {
	Name    string
	Doc     string // one line
	Paper   string // arXiv number, "" for a control of our own
	Options option.Set
	// New checks the options for a stack and returns the router. It fails where
	// the stack offers nothing to route.
	New func(s Layers, o option.Values) (Router, error)
}

// Router is a rule with its options fixed. It holds no arrays.
type Router interface {
	// Wants tells whether a layer's offer of that name is needed.
	Wants(layer int, name string) bool
	// Write returns what a layer writes for its value v [B,T,H,V].
	Write(at Site, v *Node) *Node
	// Leave returns the residual stream [B,T,D] after a layer's whole block.
	Leave(at Site, h *Node) *Node
	// Neutral tells whether fresh parameters route exactly nothing.
	Neutral() bool
}

// Site is a layer of a stack while a graph is built.
type Site struct {
	param.Scope                    // of the layer's routing parameters
	Layer       int                // from 0
	Offers      []map[string]*Node // by layer, of those up to this one
	Show        func(name string, value func() *Node)
}

// Find returns the kind of that name, or an error that lists the known ones.
func Find(name string) (*Kind, error) {
	for _, k := range Registry {
		if k.Name == name {
			return k, nil
		}
	}
	return nil, fmt.Errorf("unknown router %q: known are %s", name, strings.Join(Names(), ", "))
}

// Names lists the routers.
func Names() (names []string) {
	for _, k := range Registry {
		names = append(names, k.Name)
	}
	return names
}

// New builds a router for a stack from options given as text.
func New(name string, s Layers, given map[string]string) (Router, error) {
	k, err := Find(name)
	if err != nil {
		return nil, err
	}
	if len(k.Options) == 0 && len(given) > 0 {
		return nil, fmt.Errorf("route %s: takes no options, not %s", name, strings.Join(slices.Sorted(maps.Keys(given)), ", "))
	}
	o, err := k.Options.Parse("route "+name, given)
	if err != nil {
		return nil, err
	}
	r, err := k.New(s, o)
	if err != nil {
		return nil, fmt.Errorf("route %s: %w", name, err)
	}
	return r, nil
}

// plain is a router that does nothing; others embed it.
type plain struct{}

func (plain) Wants(int, string) bool      { return false }
func (plain) Write(_ Site, v *Node) *Node { return v }
func (plain) Leave(_ Site, h *Node) *Node { return h }
func (plain) Neutral() bool               { return true }
