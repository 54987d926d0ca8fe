package attention

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
)

// Evaluate runs a problem on a backend in the given type and form, and returns o
// and, for a loss whose gradient with respect to o is do, the gradients of q, k and
// v. A nil do asks for no gradients.
func Evaluate(be compute.Backend, dtype dtypes.DType, form Form, a *Arrays, do []float64) (o []float64, d *Arrays, err error) {
	if err := a.Check(); err != nil {
		return nil, nil, err
	}
	queries, keys := []int{a.B, a.T, a.H, a.K}, []int{a.B, a.T, a.J, a.K}
	outs, grads, err := check.Gradients(be, dtype, func(x []*Node) []*Node {
		return []*Node{Run(Inputs{Q: x[0], K: x[1], V: x[2], Window: a.Window}, form)}
	}, []check.Array{{Dims: queries, Values: a.Q}, {Dims: keys, Values: a.Key}, {Dims: keys, Values: a.Value}},
		[]check.Array{{Dims: queries, Values: do}})
	if err != nil {
		return nil, nil, err
	}
	if grads != nil {
		d = &Arrays{B: a.B, T: a.T, H: a.H, J: a.J, K: a.K, Window: a.Window, Q: grads[0].Values, Key: grads[1].Values, Value: grads[2].Values}
	}
	return outs[0].Values, d, nil
}

// Errors returns the largest relative errors of o and of the gradients, where there
// are any, against those of a reference, and the names of the worst.
func Errors(o, want []float64, d, wantD *Arrays) (value, gradient float64, valueAt, gradientAt string) {
	value, valueAt = check.RelErr(o, want), "o"
	if d == nil {
		return
	}
	for _, x := range []struct {
		name      string
		got, want []float64
	}{{"q", d.Q, wantD.Q}, {"k", d.Key, wantD.Key}, {"v", d.Value, wantD.Value}} {
		if e := check.RelErr(x.got, x.want); e >= gradient {
			gradient, gradientAt = e, x.name
		}
	}
	return
}
