package optim

import (
	"fmt"
	"strings"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train/optimizer"

	"github.com/kalmarz/kalmarz/layers/option"
	"github.com/kalmarz/kalmarz/layers/param"
)

// Optimiser updates the trainable variables that a graph uses.
type Optimiser interface {
	optimizer.Interface
	// UpdateGraphWithGradients is UpdateGraph for gradients that are given, one for
	// each trainable variable that the graph uses, in the scope's order.
	UpdateGraphWithGradients(scope *model.Scope, grads []*Node, dtype dtypes.DType)
}

// Kind is an optimiser that can be chosen by name. New reads its options.
type Kind struct {
	Name, Doc string
	Options   option.Set
	New       func(o option.Values, s Settings) Optimiser
	// Takes tells whether the optimiser has a parameter itself; what it does not
	// take is AdamW's.
	Takes func(o option.Values, e *param.Entry) bool
}

// Settings are what all optimisers share. Of a kind that leaves parameters to
// AdamW, RestRate is AdamW's learning rate.
type Settings struct {
	Rate, RestRate *Node // scalars of the graph that is built
	Beta1, Beta2   float64
	WeightDecay    float64
	Entries        []*param.Entry // all parameters
}

// Registry lists the optimisers; a new one joins with its line here.
var Registry = []*Kind{adamWKind, muonKind, norMuonKind}

// Find returns the optimiser of that name, or an error that lists the known ones.
func Find(name string) (*Kind, error) {
	for _, k := range Registry {
		if k.Name == name {
			return k, nil
		}
	}
	return nil, fmt.Errorf("unknown optimizer %q: known are %s", name, strings.Join(Names(), ", "))
}

// Names lists the optimisers' names.
func Names() (names []string) {
	for _, k := range Registry {
		names = append(names, k.Name)
	}
	return names
}

// Group is the parameters that one optimiser updates.
type Group struct {
	Optimiser string
	Entries   []*param.Entry
}

// Size is the number of values.
func (g Group) Size() (n int) {
	for _, e := range g.Entries {
		n += e.Size()
	}
	return n
}

// Groups divides the trained parameters among optimisers: the kind's own first,
// each with at least one parameter.
func (k *Kind) Groups(o option.Values, entries []*param.Entry) []Group {
	var own, rest Group
	own.Optimiser, rest.Optimiser = k.Name, adamWKind.Name
	for _, e := range entries {
		switch {
		case e.Role == param.Fixed:
		case k.Takes(o, e):
			own.Entries = append(own.Entries, e)
		default:
			rest.Entries = append(rest.Entries, e)
		}
	}
	var groups []Group
	for _, g := range []Group{own, rest} {
		if len(g.Entries) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// paths is the set of the variables behind entries that f picks.
func paths(entries []*param.Entry, f func(e *param.Entry) bool) func(v *model.Variable) bool {
	picked := map[string]bool{}
	for _, e := range entries {
		picked[e.Variable().Path()] = f(e)
	}
	return func(v *model.Variable) bool { return picked[v.Path()] }
}

// decays tells whether weight decay applies: to matrices and embeddings.
func decays(e *param.Entry) bool { return e.Role == param.Matrix || e.Role == param.Embedding }
