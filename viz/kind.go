package viz

import (
	"fmt"
	"strings"
)

// Kind is the way a figure draws its data.
type Kind string

// The kinds of figure.
const (
	Lines     Kind = "lines"     // mean lines with intervals over any axis
	Length    Kind = "length"    // accuracy against sequence length
	Training  Kind = "training"  // curves over steps, raw and smoothed
	Bars      Kind = "bars"      // grouped bars with intervals
	Heat      Kind = "heat"      // a table of cells, coloured, with values
	Depth     Kind = "depth"     // smallest depth that solves each length
	Scaling   Kind = "scaling"   // both axes logarithmic, with slope guides
	Tokens    Kind = "tokens"    // quantities over the tokens of a sequence
	Spectrum  Kind = "spectrum"  // distribution of eigenvalues over training
	Multiples Kind = "multiples" // panels with shared axes
)

// kind is what a kind knows: the axes it assumes, and how it turns data into
// a panel. Its files hold nothing else.
type kind struct {
	name  Kind
	x, y  Axis
	grid  bool
	build func(f *Figure, th *theme) (*panel, error)
}

// register is filled here and not by init functions so that its order is fixed.
func register() []kind {
	return []kind{
		lines, length, training, bars, heat, depth, scaling, tokens, spectrum,
		{name: Multiples, x: Axis{Label: "-"}, y: Axis{Label: "-"}},
	}
}

// Kinds lists the kinds of figure.
func Kinds() []Kind {
	var names []Kind
	for _, k := range register() {
		names = append(names, k.name)
	}
	return names
}

func find(name Kind) (*kind, error) {
	var known []string
	for _, k := range register() {
		if k.name == name {
			return &k, nil
		}
		known = append(known, string(k.name))
	}
	return nil, fmt.Errorf("unknown kind %q: known are %s", name, strings.Join(known, ", "))
}

// complete fills the axes that were left empty and checks the data's shape.
func (f Figure) complete() (*Figure, *kind, error) {
	k, err := find(f.Kind)
	if err == nil && strings.TrimSpace(f.Title) == "" {
		err = fmt.Errorf("kind %s: no title", f.Kind)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("figure %q: %w", f.Title, err)
	}
	f.X, f.Y = f.X.or(k.x), f.Y.or(k.y)
	if f.Samples == "" {
		f.Samples = "seeds"
	}
	switch {
	case k.build == nil:
	case k.grid:
		err = f.Grid.check(f.Kind == Tokens)
	default:
		err = f.checkSeries()
	}
	if err == nil && k.build != nil {
		err = f.checkAxes()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("figure %q: %w", f.Title, err)
	}
	return &f, k, nil
}

func (a Axis) or(b Axis) Axis {
	if a.Label == "" {
		a.Label = b.Label
	}
	if a.Unit == "" {
		a.Unit = b.Unit
	}
	if a.Scale == Auto {
		a.Scale = b.Scale
	}
	if a.Min == a.Max {
		a.Min, a.Max = b.Min, b.Max
	}
	return a
}
