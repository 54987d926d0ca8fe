package mixer_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/mixer/mixercheck"
	"github.com/kalmarz/kalmarz/layers/option"
)

// deltaGates are DeltaNet's, written as a user of the package would.
func deltaGates(c *mixer.Context, x, q, k, v *Node, _ option.Values) delta.Inputs {
	beta := mixer.PerHead(Sigmoid(c.Linear("b_proj", x, k.Shape().Dim(2), true)))
	k = grad.L2(k, 1e-6)
	return delta.Inputs{Q: mixer.Scale(grad.L2(q, 1e-6)), K: k, Erase: Mul(beta, k), Write: Mul(beta, v)}
}

// forget takes back what a test registered.
func forget(t *testing.T) {
	before := slices.Clone(mixer.Registry)
	t.Cleanup(func() { mixer.Registry = before })
}

func TestFromGatesIsTheMixerOfItsGates(t *testing.T) {
	forget(t)
	if err := mixer.Register(mixer.FromGates("own_delta", "", deltaGates)); err != nil {
		t.Fatal(err)
	}
	sizes := map[string]string{"heads": "2", "dk": "4", "dv": "3", "conv": "3"}
	result := func(name, key, value string) mixercheck.Result {
		o := map[string]string{key: value}
		for k, v := range sizes {
			o[k] = v
		}
		l, err := mixer.New(name, width, o)
		if err != nil {
			t.Fatal(err)
		}
		return run(t, mixercheck.Case{Layer: l, X: check.Random(rand.New(rand.NewPCG(1, 2)), 1, 2, 9, width), State: true, Seed: 3, DType: dtypes.Float64})
	}
	value, gradient, at, gradientAt := result("own_delta", "gate", "none").Worst(result("deltanet", "beta_bias", "true"))
	if !(value < 1e-12 && gradient < 1e-12) {
		t.Errorf("values are %g apart (%s), gradients %g (%s)", value, at, gradient, gradientAt)
	}
}

func TestRegisterRefuses(t *testing.T) {
	forget(t)
	good := func(name string, o ...option.Option) *mixer.Kind { return mixer.FromGates(name, "", deltaGates, o...) }
	for _, c := range []struct {
		kind *mixer.Kind
		want string
	}{
		{nil, "needs New"},
		{&mixer.Kind{Name: "x"}, "needs New"},
		{good("gdn"), "mixer gdn: the name is taken"},
		{good("My mixer"), `name "My mixer"`},
		{good("x", option.Option{Name: "heads", Kind: option.Int, Default: 1}), `option "heads" is declared twice`},
		{good("x", option.Option{Name: "p", Kind: option.Float, Default: 3.0, Range: [2]float64{0, 2}}), "default p = 3: must be"},
	} {
		if err := mixer.Register(c.kind); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
	if k, err := mixer.Find("x"); err == nil {
		t.Errorf("%s was registered all the same", k.Name)
	}
}
