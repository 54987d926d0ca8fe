package golden

import (
	"fmt"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/kalman"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/mixer/mixercheck"
)

// filterInputs and filterOutputs are the arrays of a case of family kalman, the
// bare filter: channels M, states S. A case whose name begins with prior_readout
// reads the prediction for the next token.
const (
	filterInputs  = "v:BTM precision:BTM k:BTS q:BTS a:MS p:MS lam0:BMS eta0:BMS"
	filterOutputs = "y:BTM y_var:BTM lam:BMS eta:BMS"
)

// filter evaluates a case of family kalman.
func (c *Case) filter(be compute.Backend, archive string, form delta.Form, dtype dtypes.DType) (r Result, err error) {
	taken := c.taker(archive)
	read := func(prefix, specs string) (values [][]float64) {
		for _, spec := range strings.Fields(specs) {
			name, axes, _ := strings.Cut(spec, ":")
			_, there := c.Arrays["in_"+name]
			_, graded := c.Arrays["grad_"+name]
			if err != nil || strings.HasSuffix(name, "0") && !there && !graded { // an initial state may be left out
				values = append(values, nil)
				continue
			}
			var a check.Array
			a, err = taken.take(prefix+name, axes)
			values = append(values, a.Values)
		}
		return values
	}
	problem := func(x [][]float64) *kalman.Arrays {
		return &kalman.Arrays{B: taken.sizes['B'], T: taken.sizes['T'], M: taken.sizes['M'], S: taken.sizes['S'],
			V: x[0], Precision: x[1], K: x[2], Q: x[3], A: x[4], P: x[5], Lambda: x[6], Eta: x[7]}
	}
	result := func(x [][]float64) *kalman.Result {
		return &kalman.Result{Y: x[0], YVar: x[1], Lambda: x[2], Eta: x[3]}
	}
	in := problem(read("in_", filterInputs))
	wantGrad := problem(read("grad_", filterInputs))
	d, want := result(read("w_", filterOutputs)), result(read("out_", filterOutputs))
	if err == nil {
		err = taken.none("in_ and grad_ of " + filterInputs + ", w_ and out_ of " + filterOutputs)
	}
	if err != nil {
		return r, err
	}
	o := kalman.Options{Prior: strings.HasPrefix(c.Name, "prior_readout"), Plan: mixer.Plan(form, in.T)}
	got, grad, err := kalman.Evaluate(be, dtype, o, in, d)
	if err != nil {
		return r, fmt.Errorf("%s: %s/%s: %w", archive, c.Family, c.Name, err)
	}
	r = Result{Mixer: "kalman", Family: c.Family, Case: c.Name}
	r.Output, r.Gradient, r.OfOutput, r.OfGradient = kalman.Errors(got, want, grad, wantGrad)
	return r, nil
}

// layer evaluates a case of family kalman_layer: a whole layer of the block that
// is the case's name, with arrays in_x [B,T,D], out_y and out_y_var, param_NAME
// and grad_NAME in PyTorch's names and layouts. Gradients are those of
// Σy + ½Σy², which at the given y are those of Σ y∘(1+y) with the second held
// constant.
func (c *Case) layer(be compute.Backend, archive string, form delta.Form, dtype dtypes.DType) (r Result, err error) {
	taken := c.taker(archive)
	arrays := map[string]check.Array{}
	for _, name := range []string{"in_x", "out_y", "out_y_var", "grad_x"} {
		if arrays[name], err = taken.take(name, "BTD"); err != nil {
			return r, err
		}
	}
	params, grads := map[string]check.Array{}, map[string]check.Array{}
	for key, a := range c.Arrays {
		if name, ok := strings.CutPrefix(key, "param_"); ok {
			params[name] = a
			if grads[name], ok = c.Arrays["grad_"+name]; !ok {
				return r, fmt.Errorf("%s is missing", taken.key("grad_"+name))
			}
			delete(taken.left, key)
			delete(taken.left, "grad_"+name)
		}
	}
	if err := taken.none("in_x, grad_x, out_y, out_y_var, and param_ and grad_ of each parameter"); err != nil {
		return r, err
	}
	where := func(err error) error { return fmt.Errorf("%s: %s/%s: %w", archive, c.Family, c.Name, err) }
	options := map[string]string{"block": c.Name}
	if a := params["lambda_log"]; len(a.Dims) == 2 {
		options["d_state"] = fmt.Sprint(a.Dims[1])
	}
	l, err := mixer.New("kalman", taken.sizes['D'], options)
	if err != nil {
		return r, where(err)
	}
	y := arrays["out_y"]
	weight := check.Array{Dims: y.Dims}
	for _, v := range y.Values {
		weight.Values = append(weight.Values, 1+v)
	}
	got, err := mixercheck.Run(be, mixercheck.Case{Layer: l, X: arrays["in_x"], Form: form, DType: dtype,
		Torch: params, Weight: weight, Offers: []string{"variance"}})
	if err != nil {
		return r, where(err)
	}
	r = Result{Mixer: "kalman", Family: c.Family, Case: c.Name}
	for name, of := range map[string]string{"y": "out_y", "offer/variance": "out_y_var"} {
		if e := check.RelErr(got[name].Values, arrays[of].Values); e >= r.Output {
			r.Output, r.OfOutput = e, strings.TrimPrefix(of, "out_")
		}
	}
	grads["x"] = arrays["grad_x"]
	for name, want := range grads {
		g, ok := got["grad "+strings.ReplaceAll(name, ".", "/")]
		if !ok {
			return r, where(fmt.Errorf("no gradient of %s", name))
		}
		if want, err = mixer.TorchLayout(name, g.Dims, want); err != nil {
			return r, where(err)
		}
		if e := check.RelErr(g.Values, want.Values); e >= r.Gradient {
			r.Gradient, r.OfGradient = e, name
		}
	}
	return r, nil
}
