package option

import (
	"math"
	"testing"
)

var set = Set{
	{Name: "eta", Kind: Float, Default: "learned", Range: [2]float64{0, 2}, Choices: []string{"learned"}},
	{Name: "eps", Kind: Float, Default: 1e-6, Range: [2]float64{0, math.Inf(1)}},
	{Name: "heads", Kind: Int, Default: 4, Range: [2]float64{1, 64}},
	{Name: "conv", Kind: Bool, Default: true},
	{Name: "norm", Kind: Word, Default: "l2", Choices: []string{"l2", "none"}},
}

func TestParse(t *testing.T) {
	v, err := set.Parse("mixer x", map[string]string{"eta": "0.5", "heads": "2", "conv": "false", "norm": "none"})
	if err != nil {
		t.Fatal(err)
	}
	if v.Float("eta") != 0.5 || v.Word("eta") != "" || v.Int("heads") != 2 || v.Bool("conv") || v.Word("norm") != "none" || v.Float("eps") != 1e-6 {
		t.Errorf("got %v", v)
	}
	if d := set.Defaults(); d.Word("eta") != "learned" || !math.IsNaN(d.Float("eta")) {
		t.Errorf("defaults: %v", d)
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"eta", "-0.1", "mixer x: eta = -0.1: must be in [0, 2] or learned"},
		{"eta", "NaN", "mixer x: eta = NaN: must be in [0, 2] or learned"},
		{"eps", "-1", "mixer x: eps = -1: must be a number >= 0"},
		{"heads", "1.5", "mixer x: heads = 1.5: must be a whole number in [1, 64]"},
		{"conv", "maybe", "mixer x: conv = maybe: must be true or false"},
		{"norm", "l1", "mixer x: norm = l1: must be one of l2, none"},
		{"etta", "1", `mixer x: unknown option "etta": known are eta, eps, heads, conv, norm`},
	} {
		_, err := set.Parse("mixer x", map[string]string{c.name: c.value})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s = %s: error %v, want %s", c.name, c.value, err, c.want)
		}
	}
}

func TestFormatRoundTrips(t *testing.T) {
	for _, o := range set {
		x, err := o.Parse(Format(o.Default))
		if err != nil || x != o.Default {
			t.Errorf("%s: %v became %v, %v", o.Name, o.Default, x, err)
		}
	}
}
