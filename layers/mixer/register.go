package mixer

import (
	"fmt"
	"regexp"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/option"
)

var legalName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// Register adds a kind to the registry while the program runs, as a notebook
// does. Call it before the first experiment; it is not safe beside others. It
// refuses names that are taken or cannot be typed as mixer=NAME, and options
// whose defaults do not fit.
func Register(k *Kind) error {
	switch {
	case k == nil || k.New == nil:
		return fmt.Errorf("mixer: a kind needs New")
	case !legalName.MatchString(k.Name):
		return fmt.Errorf("mixer: name %q: must be small letters, digits and _, a letter first", k.Name)
	case slices.ContainsFunc(Registry, func(r *Kind) bool { return r.Name == k.Name }):
		return fmt.Errorf("mixer %s: the name is taken", k.Name)
	}
	seen := map[string]bool{}
	for _, o := range k.Options {
		if seen[o.Name] {
			return fmt.Errorf("mixer %s: option %q is declared twice", k.Name, o.Name)
		}
		seen[o.Name] = true
		if _, err := o.Parse(option.Format(o.Default)); err != nil {
			return fmt.Errorf("mixer %s: default %s = %v: %w", k.Name, o.Name, o.Default, err)
		}
	}
	Registry = append(Registry, k)
	return nil
}

// Gates turns what a token brings into one step of the recurrence. x [B,T,D] is
// the layer's input; q, k [B,T,H,K] and v [B,T,H,V] are projected, convolved and
// unscaled.
type Gates func(c *Context, x, q, k, v *Node, o option.Values) delta.Inputs

// FromGates makes a kind of gates alone: projections and short convolutions
// before, a norm, an output gate and a projection behind are those of Gated
// DeltaNet. More options join those of the heads.
func FromGates(name, doc string, gates Gates, more ...option.Option) *Kind {
	return &Kind{
		Name: name, Doc: doc, Paper: "-",
		Options: join(headOptions(4, 0.75, 1.5, 4), gateOptions("silu"), more),
		New: func(d int, o option.Values) (Layer, error) {
			s, err := newSizes(d, o)
			return &gated{s, o, gates}, err
		},
	}
}

type gated struct {
	sizes
	o     option.Values
	gates Gates
}

func (l *gated) Slots(int) []Slot { return l.slots() }

func (l *gated) Apply(c *Context, x *Node) *Node {
	q, k, v := c.qkv(x, l.sizes)
	return c.gated(x, c.Recur(l.gates(c, x, q, k, v, l.o)), l.sizes, l.o)
}
