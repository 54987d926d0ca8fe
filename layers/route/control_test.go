package route_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	gomodel "github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/model"
	"github.com/kalmarz/kalmarz/layers/param"
)

func TestRoutersRefuse(t *testing.T) {
	for _, c := range []struct{ router, mixers, want string }{
		{"clear", "gdn", `unknown router "clear": known are none, cler, attnres`},
		{"cler gama=head", "gdn gdn", `route cler: unknown option "gama": known are gamma, from, error`},
		{"none gamma=head", "gdn gdn", "route none: takes no options, not gamma"},
		{"cler gamma=row", "gdn gdn", "route cler: gamma = row: must be one of scalar, head, channel, gate"},
		{"cler", "gdn", "route cler: needs 2 or more layers of the delta rule, whose write errors it routes: the stack gdn has 1"},
		{"cler", "softmax softmax", "route cler: needs 2 or more layers of the delta rule, whose write errors it routes: the stack softmax,softmax has 0"},
		{"cler-h", "softmax", "route cler-h: needs 1 or more layers of the delta rule"},
		{"clvr", "softmax", "route clvr: needs 1 or more layers of the delta rule, whose write errors it routes: the stack softmax has 0; hosts = all takes every layer"},
		{"cler error=bare", "gdn gdn2", "route cler: error = bare: layer 2, gdn2, gates what it erases apart from what it writes"},
		{"wide hosts=all", "gdn softmax", "route wide: layer 2: mixer softmax has no value width dv to widen"},
	} {
		cfg := config(c.router, strings.Fields(c.mixers)...)
		cfg.MLP = 0
		if _, err := model.New(cfg); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s on %s: error %v, want %s", c.router, c.mixers, err, c.want)
		}
	}
	cfg := config("cler", "gdn", "kda")
	cfg.Layers[1].Options = map[string]string{"heads": "2", "dk": "4", "dv": "4"}
	if _, err := model.New(cfg); err == nil || err.Error() != "route cler: layer 1, gdn, has values of 2 x 3, layer 2, kda, of 2 x 4: they must be alike" {
		t.Errorf("values of two shapes: error %v", err)
	}
	cfg = config("cler-h", "delta")
	cfg.Layers[0].Options = map[string]string{"heads": "2", "erase": "none", "write": "none"}
	if _, err := model.New(cfg); err == nil || !strings.HasPrefix(err.Error(), "route cler-h: needs 1 or more layers of the delta rule") {
		t.Errorf("a mixer whose options erase nothing: error %v", err)
	}
	if _, err := model.New(config("clvr hosts=all", "softmax")); err != nil {
		t.Errorf("values of softmax: %v", err)
	}
}

// The widened control has as many parameters as clvr, up to half a channel a
// layer: 3 D of an MLP, or what a channel of each head's value takes.
func TestWidenedControl(t *testing.T) {
	for _, mlp := range []int{6, 0} {
		for _, host := range deltaRules() {
			for _, options := range []string{"", " rank=6"} {
				count := func(router string) int {
					c := config(router, host, "softmax", host)
					c.MLP, c.Width = mlp, 16
					m, err := model.New(c)
					if err != nil {
						t.Fatal(err)
					}
					cost, err := m.Cost(check.Backend(), delta.Form{}, 4)
					if err != nil {
						t.Fatal(err)
					}
					return cost.Parameters
				}
				none, clvr, wide := count("none"), count("clvr"+options), count("wide"+options)
				channel := 3 * 16
				if mlp == 0 {
					channel = (3*16+3)*2 + 1 + 16*2 + 2*2 // value, gate and output projections, convolution, norm, low-rank gates
				}
				if off := wide - clvr; max(off, -off) > channel || wide <= none {
					t.Errorf("%s, mlp %d%s: %d parameters, clvr has %d, the baseline %d", host, mlp, options, wide, clvr, none)
				}
			}
		}
	}
}

// Probes see the gain and what is routed, and routing of nothing else.
func TestProbesSeeRouting(t *testing.T) {
	for name, want := range map[string][]string{
		"none": {}, "cler gamma=head": {"2 gamma 2", "2 routed 2"}, "clvr": {"0 routed 1", "2 routed 1"}, "gated": {"0 gate 2", "0 routed 1", "2 gate 2", "2 routed 1"},
	} {
		m := stack(t, name, "gdn", "softmax", "gdn")
		set := param.NewSet(dtypes.Float32, 3, nil)
		traces, err := m.Probe(check.Backend(), set, []int32{1, 2, 3})
		if err != nil {
			t.Fatal(err)
		}
		seen := []string{}
		for _, tr := range traces {
			if slices.Contains([]string{"gamma", "routed", "gate"}, tr.Name) {
				seen = append(seen, fmt.Sprintf("%d %s %d", tr.Layer, tr.Name, tr.Width))
			}
		}
		slices.Sort(seen)
		if !slices.Equal(seen, want) {
			t.Errorf("%s: probes see %v, expected %v", name, seen, want)
		}
	}
}

// The Monte-Carlo readout of a routed stack without noise is its softmax.
func TestRoutedReadout(t *testing.T) {
	const N = 2
	for _, name := range []string{"cler", "clvr", "self", "both"} {
		c := config(name, "gdn", "gdn")
		c.Layers = append(c.Layers, model.Layer{Mixer: "kalman", Options: map[string]string{"d_state": "2"}})
		if name == "clvr" {
			c.RouteOptions["hosts"] = "all"
		}
		m, err := model.New(c)
		if err != nil {
			t.Fatal(err)
		}
		r := newRunner(m, dtypes.Float64, false)
		r.run(t)
		r.stir(t)
		exec := gomodel.MustNewExec(check.Backend(), r.set.Store, func(_ *gomodel.Scope, x *Node) (*Node, *Node) {
			s := r.set.At(x.Graph())
			y, _ := m.Apply(s, delta.Form{}, x, nil)
			p, _ := m.Marginal(s, delta.Form{}, x, nil, Zeros(x.Graph(), shapes.Make(dtypes.Float64, N, rows, length, c.Width)))
			return LogSoftmax(y), p
		})
		out, err := exec.Call(someTokens())
		if err != nil {
			t.Fatal(err)
		}
		if e := check.RelErr(tensors.MustCopyFlatData[float64](out[1]), tensors.MustCopyFlatData[float64](out[0])); !(e < 1e-12) {
			t.Errorf("%s: off by %.2g", name, e)
		}
	}
}
