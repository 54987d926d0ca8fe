package golden

import (
	"fmt"
	"strings"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/option"
)

// inputs lists each family's inputs with their axes; initial_state may be left
// out.
var inputs = map[string]string{
	"deltanet":   "q:BTHK k:BTHK v:BTHV beta:BTH initial_state:BHKV",
	"gdn":        "q:BTHK k:BTHK v:BTHV beta:BTH log_decay:BTH initial_state:BHKV",
	"kda":        "q:BTHK k:BTHK v:BTHV beta:BTH log_decay:BTHK initial_state:BHKV",
	"gdn2":       "q:BTHK k:BTHK v:BTHV erase:BTHK write:BTHV log_decay:BTHK initial_state:BHKV",
	"gla":        "q:BTHK k:BTHK v:BTHV log_decay:BTHK initial_state:BHKV",
	"scalar_gla": "q:BTHK k:BTHK v:BTHV log_decay:BTH initial_state:BHKV",
	"kaczmarz":   "q:BTHK k:BTHK v:BTHV eta:BTH log_decay:BTH initial_state:BHKV",
}

const initialState = "initial_state"

// outputs lists the outputs that every case must have.
const outputs = "o:BTHV state:BHKV"

// problem is a case in the form in which it is evaluated.
type problem struct {
	c           *Case
	kind        *mixer.Kind
	options     option.Values
	names       []string // of the inputs
	in, grad    []check.Array
	weight, out []check.Array // of o and state
}

// problem checks a case's arrays and puts them in order.
func (c *Case) problem(archive string, kind *mixer.Kind) (*problem, error) {
	p := &problem{c: c, kind: kind}
	taken := c.taker(archive)
	pair := func(first, second, spec string) (x, y check.Array, err error) {
		name, axes, _ := strings.Cut(spec, ":")
		if x, err = taken.take(first+name, axes); err == nil {
			y, err = taken.take(second+name, axes)
		}
		return
	}
	for _, spec := range strings.Fields(inputs[c.Family]) {
		name, _, _ := strings.Cut(spec, ":")
		_, in := taken.left["in_"+name]
		_, grad := taken.left["grad_"+name]
		if name == initialState && !in && !grad {
			continue
		}
		x, y, err := pair("in_", "grad_", spec)
		if err != nil {
			return nil, err
		}
		p.names, p.in, p.grad = append(p.names, name), append(p.in, x), append(p.grad, y)
	}
	for _, spec := range strings.Fields(outputs) {
		x, y, err := pair("w_", "out_", spec)
		if err != nil {
			return nil, err
		}
		p.weight, p.out = append(p.weight, x), append(p.out, y)
	}
	if err := taken.none(fmt.Sprintf("in_ and grad_ of %s, w_ and out_ of %s", inputs[c.Family], outputs)); err != nil {
		return nil, err
	}
	p.options = kind.Options.Defaults()
	if eps := kind.Options.Find("eps"); eps != nil {
		_, text, _ := strings.Cut(c.Name, "_eps")
		v, err := eps.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: key %q: the case's name must end in _eps and %s", archive, c.Family+"/"+c.Name, eps.Allowed())
		}
		p.options["eps"] = v
	}
	return p, nil
}
