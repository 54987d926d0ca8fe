package golden

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/mixer"
)

// Result holds a case's worst relative errors, and the arrays that they are of.
type Result struct {
	Mixer, Family, Case string
	Output, Gradient    float64
	OfOutput            string // o or state
	OfGradient          string // an input's name
}

// Check evaluates every case of a family that one of kinds serves, in the given
// form and type, and returns a result for each, in the archive's order. skipped
// names the families that none serves. It returns an error on a case whose
// arrays are not those of its family.
func Check(be compute.Backend, a *Archive, kinds []*mixer.Kind, form delta.Form, dtype dtypes.DType) (results []Result, skipped []string, err error) {
	var all []*problem                // nil where a case is done by itself
	groups := map[string][]*problem{} // cases that run in one graph, joined along the batch axis
	for _, c := range a.Cases {
		served := false
		for _, kind := range kinds {
			if check := alone[c.Family]; check != nil && kind.Name == "kalman" {
				served = true
				r, err := check(c, be, a.Name, form, dtype)
				if err != nil {
					return nil, nil, err
				}
				results, all = append(results, r), append(all, nil)
				continue
			}
			if kind.Core == nil || kind.Family != c.Family || inputs[c.Family] == "" {
				continue
			}
			served = true
			p, err := c.problem(a.Name, kind)
			if err != nil {
				return nil, nil, err
			}
			results, all = append(results, Result{}), append(all, p)
			groups[p.key()] = append(groups[p.key()], p)
		}
		if !served && !slices.Contains(skipped, c.Family) {
			skipped = append(skipped, c.Family)
		}
	}
	found := map[*problem]Result{}
	for i, p := range all {
		if p == nil {
			continue
		}
		group := groups[p.key()]
		if group[0] == p {
			if err := run(be, group, form, dtype, found); err != nil {
				return nil, nil, fmt.Errorf("%s: %s/%s: %w", a.Name, p.c.Family, p.c.Name, err)
			}
		}
		results[i] = found[p]
	}
	return results, skipped, nil
}

// alone holds the families whose cases are evaluated one by one.
var alone = map[string]func(c *Case, be compute.Backend, archive string, form delta.Form, dtype dtypes.DType) (Result, error){
	"kalman": (*Case).filter, "kalman_layer": (*Case).layer,
}

// key is equal for cases that one graph can evaluate.
func (p *problem) key() string {
	key := p.kind.Name + fmt.Sprint(p.options, p.names)
	for _, x := range p.in {
		key += fmt.Sprint(x.Dims[1:])
	}
	return key
}

// run evaluates cases side by side in one batch and splits the results.
func run(be compute.Backend, group []*problem, form delta.Form, dtype dtypes.DType, found map[*problem]Result) error {
	var in, weight [][]check.Array
	for _, p := range group {
		in, weight = append(in, p.in), append(weight, p.weight)
	}
	first := group[0]
	outs, grads, err := check.Gradients(be, dtype, func(x []*Node) []*Node {
		byName := map[string]*Node{}
		for i, name := range first.names {
			byName[name] = x[i]
		}
		r := first.kind.Core(byName, first.options)
		r.State = byName[initialState]
		y := delta.Run(r, form)
		return []*Node{y.O, y.State}
	}, stack(in), stack(weight))
	if err != nil {
		return err
	}
	for _, p := range group {
		r := Result{Mixer: p.kind.Name, Family: p.c.Family, Case: p.c.Name}
		for i, want := range p.out {
			if e := check.RelErr(next(&outs[i], len(want.Values)), want.Values); e >= r.Output {
				r.Output, r.OfOutput = e, []string{"o", "state"}[i]
			}
		}
		for i, want := range p.grad {
			if e := check.RelErr(next(&grads[i], len(want.Values)), want.Values); e >= r.Gradient {
				r.Gradient, r.OfGradient = e, p.names[i]
			}
		}
		found[p] = r
	}
	return nil
}

// stack joins the arrays of several cases along their first axis.
func stack(cases [][]check.Array) []check.Array {
	all := make([]check.Array, len(cases[0]))
	for i := range all {
		all[i].Dims = slices.Clone(cases[0][i].Dims)
		all[i].Dims[0] = 0
		for _, arrays := range cases {
			all[i].Dims[0] += arrays[i].Dims[0]
			all[i].Values = append(all[i].Values, arrays[i].Values...)
		}
	}
	return all
}

// next takes the first n values off an array.
func next(a *check.Array, n int) []float64 {
	values := a.Values[:n]
	a.Values = a.Values[n:]
	return values
}
