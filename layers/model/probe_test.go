package model

import (
	"math"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	gomodel "github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/param"
)

// What a probe sees token by token is what the layers offer over the whole
// sequence, and the written size explains the state's.
func TestProbe(t *testing.T) {
	c := kalmanModel
	c.Layers = append([]Layer{{"kaczmarz", map[string]string{"heads": "2", "dk": "2", "dv": "2"}}, {"softmax", map[string]string{"heads": "2"}}}, c.Layers...)
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	set := param.NewSet(dtypes.Float64, 7, nil)
	traces, err := m.Probe(check.Backend(), set, someTokens)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]Trace{}
	for _, tr := range traces {
		if len(tr.Value) != len(someTokens)*tr.Width {
			t.Errorf("layer %d, %s: %d values for width %d", tr.Layer, tr.Name, len(tr.Value), tr.Width)
		}
		found[tr.Mixer+" "+tr.Name] = tr
	}
	for _, want := range []string{"kaczmarz residual", "kaczmarz beta_k2", "kaczmarz write", "kaczmarz decay", "kaczmarz norm/state", "gdn residual",
		"kalman gain", "kalman precision", "kalman state_variance", "kalman variance", "kalman norm/lambda"} {
		tr := found[want]
		if tr.Value == nil {
			t.Fatalf("no %s among %d traces", want, len(traces))
		}
		exec := gomodel.MustNewExec(check.Backend(), set.Store, func(_ *gomodel.Scope, x *Node) (*Node, *Node) {
			var seen *Node
			y, _ := m.Watch(set.At(x.Graph()), delta.Form{}, x, nil, func(layer int) func(string, *Node) {
				return func(name string, v *Node) {
					if layer == tr.Layer && name == tr.Name {
						seen = v
					}
				}
			})
			if seen == nil {
				seen = y
			}
			return seen, y
		})
		whole := tensors.MustCopyFlatData[float64](exec.MustCall(tensors.FromFlatDataAndDimensions(someTokens, 1, len(someTokens)))[0])
		if !strings.HasPrefix(tr.Name, "norm/") {
			if e := check.RelErr(tr.Value, whole); !(e < 1e-10) {
				t.Errorf("%s: off by %.2g", want, e)
			}
		}
	}
	// From nothing the first write is the state, and β‖k‖² of its residual.
	k := func(name string) []float64 { return found["kaczmarz "+name].Value }
	for h := range 2 {
		if s, w := k("norm/state")[h], k("write")[h]; math.Abs(s-w) > 1e-12*w {
			t.Errorf("head %d: state %g after a write of %g", h, s, w)
		}
		if f := k("beta_k2")[h]; !(f > 0 && f < 1) {
			t.Errorf("head %d: one write goes %g of the way", h, f)
		}
	}
	for want, bad := range map[string][]int32{"token 1 is 5: must be in [0, 5)": {0, 5}, "no tokens": nil} {
		if _, err := m.Probe(check.Backend(), set, bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
}
