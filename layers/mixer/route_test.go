package mixer_test

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/mixer/mixercheck"
	"github.com/kalmarz/kalmarz/layers/param"
)

// offers runs a layer from a random or an empty state and returns what it offers
// of the names, and the shape of v; write, if not nil, changes v.
func offers(t *testing.T, l mixer.Layer, T int, state bool, write func(*Node) *Node, names ...string) (map[string]check.Array, *check.Array) {
	t.Helper()
	set := param.NewSet(dtypes.Float64, 5, nil)
	var made []string
	exec := model.MustNewExec(check.Backend(), set.Store, func(_ *model.Scope, x *Node) []*Node {
		made = nil
		var outs []*Node
		c := mixer.Context{Scope: set.At(x.Graph()), Write: write, Wants: func(name string) bool { return slices.Contains(names, name) }}
		c.Offer = func(name string, value *Node) {
			made, outs = append(made, name), append(outs, ConvertDType(value, dtypes.Float64))
		}
		s := mixer.StartState(x.Graph(), l.Slots(T), x.Shape().Dim(0), dtypes.Float64)
		if state {
			for name, v := range s {
				s[name] = AddScalar(MulScalar(Sin(Iota(x.Graph(), v.Shape(), -1)), 0.7), 0.3)
			}
		}
		y, _ := mixer.Apply(l, c, x, s)
		return append(outs, y)
	})
	out, err := exec.Call(input(T).Tensor())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]check.Array{}
	for i, name := range append(made, "y") {
		all[name] = check.Array{Dims: out[i].Shape().Dimensions, Values: tensors.MustCopyFlatData[float64](out[i])}
	}
	if len(made)+1 != len(all) {
		t.Errorf("something is offered twice: %v", made)
	}
	v := all["v"]
	return all, &v
}

// Every mixer offers its value and takes another in its place; those that say so
// offer their error, and the others do not.
func TestValuesAndErrorsAreOffered(t *testing.T) {
	const T = 5
	for _, k := range mixer.Registry {
		l := layers(t)[k.Name]
		if l == nil {
			continue // left out when graphs are compiled
		}
		plain, v := offers(t, l, T, false, nil, "v", "u", "r")
		heads, width := l.Value()
		if !slices.Equal(v.Dims, []int{2, T, heads, width}) {
			t.Errorf("%s: v is %v, expected heads and width %d x %d", k.Name, v.Dims, heads, width)
		}
		for name, want := range map[string]bool{"u": k.Error != mixer.NoError, "r": k.Error == mixer.WrittenAnd} {
			if e, got := plain[name]; got != want || got && !slices.Equal(e.Dims, v.Dims) {
				t.Errorf("%s: offers %s of %v: %v, expected %v", k.Name, name, e.Dims, got, want)
			}
		}
		same, _ := offers(t, l, T, false, func(v *Node) *Node { return MulScalar(v, 1) }, "v")
		twice, _ := offers(t, l, T, false, func(v *Node) *Node { return MulScalar(v, 2) }, "v")
		if !slices.Equal(same["y"].Values, plain["y"].Values) {
			t.Errorf("%s: the same value, another output", k.Name)
		}
		if e := check.RelErr(twice["y"].Values, plain["y"].Values); !(e > 1e-6) {
			t.Errorf("%s: twice the value changes the output by %.2g only", k.Name, e)
		}
		for i, x := range twice["v"].Values {
			if x != 2*v.Values[i] {
				t.Errorf("%s: v was %g, is %g, expected twice as much", k.Name, v.Values[i], x)
				break
			}
		}
	}
}

// Before anything is stored the bare error is the value; with a state its norm is
// the residual that probes see, and what is written is parallel to it.
func TestErrorsAreOfTheRecall(t *testing.T) {
	const T = 5
	all := layers(t)
	for _, k := range mixer.Registry {
		if k.Error != mixer.WrittenAnd {
			continue
		}
		for name, l := range all {
			if mixerOf(name) != k.Name {
				continue
			}
			first, v := offers(t, l, 1, false, nil, "v", "u", "r")
			if e := check.RelErr(first["r"].Values, v.Values); !(e < 1e-12) {
				t.Errorf("%s: the first error is not the value, off by %.2g", name, e)
			}
			o, _ := offers(t, l, T, true, nil, "u", "r", "residual")
			V := o["r"].Dims[3]
			for i, want := range o["residual"].Values {
				r, u := o["r"].Values[i*V:][:V], o["u"].Values[i*V:][:V]
				var rr, uu, ru float64
				for j := range r {
					rr, uu, ru = rr+r[j]*r[j], uu+u[j]*u[j], ru+r[j]*u[j]
				}
				if math.Abs(math.Sqrt(rr)-want) > 1e-9*want || math.Abs(ru-math.Sqrt(rr*uu)) > 1e-9*math.Sqrt(rr*uu) || !(rr > 0 && uu > 0) {
					t.Errorf("%s, %d: ‖r‖ = %g, residual %g, ‖u‖ = %g, r·u = %g", name, i, math.Sqrt(rr), want, math.Sqrt(uu), ru)
				}
			}
		}
	}
}

// The delta rule with its gates chosen as in a published mixer is that mixer, to
// the last bit of outputs and gradients.
func TestGatesContainTheMixers(t *testing.T) {
	if check.Compiled() {
		t.Skip("the graphs are the same on every backend")
	}
	for name, gates := range map[string][3]string{
		"deltanet": {"none", "scalar", "tied"}, "gdn": {"scalar", "scalar", "tied"}, "kda": {"channel", "scalar", "tied"}, "gdn2": {"channel", "channel", "channel"},
	} {
		o := map[string]string{"heads": "2", "dk": "4", "dv": "3", "conv": "3", "gate": "none", "beta_bias": "false"}
		free := maps.Clone(o)
		free["forget"], free["erase"], free["write"] = gates[0], gates[1], gates[2]
		k, err := mixer.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		maps.DeleteFunc(o, func(key, _ string) bool { return k.Options.Find(key) == nil })
		c := mixercheck.Case{Layer: build(t, name, o), X: input(9), State: true, DType: dtypes.Float64, Seed: 9, Form: delta.Form{Chunk: 4}}
		want := run(t, c)
		c.Layer = build(t, "delta", free)
		got := run(t, c)
		if !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))) {
			t.Errorf("%s: other parameters", name)
		}
		for what, x := range got {
			if !slices.Equal(x.Values, want[what].Values) {
				t.Errorf("%s: %s differs by %.2g", name, what, check.RelErr(x.Values, want[what].Values))
			}
		}
	}
	want := "mixer delta: write = tied: needs erase = scalar, have channel"
	if _, err := mixer.New("delta", width, map[string]string{"erase": "channel"}); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func mixerOf(label string) string {
	for i, c := range label {
		if c == ' ' {
			return label[:i]
		}
	}
	return label
}
