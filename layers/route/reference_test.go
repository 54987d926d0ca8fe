package route

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/param"
)

// token is one token of a stack in plain numbers: of each layer the offers
// [H*V], and a layer's own value and residual stream.
type token struct {
	H, V   int
	offers []map[string][]float64
	v, h   []float64
	p      map[string][]float64 // the layer's parameters
}

func rms(x []float64) float64 {
	s := 0.0
	for _, a := range x {
		s += a * a
	}
	return math.Sqrt(s/float64(len(x)) + epsilon)
}

func norm(x []float64) float64 {
	s := 0.0
	for _, a := range x {
		s += a * a
	}
	return math.Sqrt(s)
}

func dot(x, y []float64) (s float64) {
	for i := range x {
		s += x[i] * y[i]
	}
	return s
}

// head is head h of an array [H*V].
func (k token) head(x []float64, h int) []float64 { return x[h*k.V:][:k.V] }

// unitRMS is x, or each head of it, at unit root mean square if asked.
func unitRMS(on bool, x []float64) []float64 {
	y := slices.Clone(x)
	if on {
		for i := range y {
			y[i] /= rms(x)
		}
	}
	return y
}

func softmax(x []float64) []float64 {
	y, s := make([]float64, len(x)), 0.0
	for i, a := range x {
		y[i] = math.Exp(a)
		s += y[i]
	}
	for i := range y {
		y[i] /= s
	}
	return y
}

// cler is ṽ of the last layer.
func (k token) cler(o map[string]string) []float64 {
	name := map[string]string{"bare": "r"}[o["error"]]
	if name == "" {
		name = "u"
	}
	lower := k.offers[:len(k.offers)-1]
	out := slices.Clone(k.v)
	for h := range k.H {
		e := slices.Clone(k.head(lower[len(lower)-1][name], h))
		switch o["from"] {
		case "mean":
			for i := range e {
				e[i] = (k.head(lower[0][name], h)[i] + k.head(lower[1][name], h)[i]) / 2
			}
		case "softmax":
			var s []float64
			for _, l := range lower {
				s = append(s, dot(k.head(k.p["query"], h), unitRMS(true, k.head(l[name], h))))
			}
			a := softmax(s)
			for i := range e {
				e[i] = a[0]*k.head(lower[0][name], h)[i] + a[1]*k.head(lower[1][name], h)[i]
			}
		}
		e = unitRMS(o["norm"] == "rms", e)
		for i := range e {
			var g float64
			switch o["gamma"] {
			case "head":
				g = k.p["gamma"][h]
			case "channel":
				g = k.p["gamma"][h*k.V+i]
			case "gate":
				g = 1 / (1 + math.Exp(-dot(k.p["gate_weight"], k.head(k.v, h))-k.p["gate_bias"][0]))
			default:
				g = k.p["gamma"][0]
			}
			k.head(out, h)[i] += g * e[i]
		}
	}
	return out
}

// attnres is ṽ of the last layer.
func (k token) attnres() []float64 {
	out := slices.Clone(k.v)
	for h := range k.H {
		q := k.head(k.p["query"], h)
		all := [][]float64{k.head(k.v, h), k.head(k.offers[0]["u"], h), k.head(k.offers[1]["u"], h)}
		var s []float64
		for j, x := range all {
			s = append(s, dot(q, unitRMS(true, x)))
			if j == 0 {
				s[0] += k.p["own"][h]
			}
		}
		a := softmax(s)
		for i := range k.V {
			k.head(out, h)[i] = a[0]*all[0][i] + a[1]*all[1][i] + a[2]*all[2][i]
		}
	}
	return out
}

// leave is the residual stream with the signal's projection.
func (k token) leave(o map[string]string, signal []float64) []float64 {
	s := unitRMS(o["norm"] == "rms", signal)
	if a := k.p["down"]; a != nil {
		s = project(s, a)
	}
	y := project(s, k.p["up"])
	for i := range y {
		y[i] += k.h[i]
	}
	return y
}

// project is x W for W [len(x), n].
func project(x, w []float64) []float64 {
	n := len(w) / len(x)
	y := make([]float64, n)
	for i, a := range x {
		for j := range n {
			y[j] += a * w[i*n+j]
		}
	}
	return y
}

// signals are what the routers into the residual stream project.
var signals = map[string]func(k token) []float64{
	"cler-h": func(k token) []float64 { return k.offers[2]["u"] },
	"clvr":   func(k token) []float64 { return k.offers[2]["v"] },
	"self":   func(k token) []float64 { return k.h },
	"both": func(k token) (s []float64) { // per head, error then value
		for h := range k.H {
			s = append(append(s, k.head(k.offers[2]["u"], h)...), k.head(k.offers[2]["v"], h)...)
		}
		return s
	},
	"gated": func(k token) (s []float64) {
		for h := range k.H {
			e, v := k.head(k.offers[2]["u"], h), k.head(k.offers[2]["v"], h)
			g := 1 / (1 + math.Exp(-k.p["gate_scale"][0]*norm(e)/(norm(v)+epsilon)-k.p["gate_bias"][0]))
			for _, x := range v {
				s = append(s, g*x)
			}
		}
		return s
	},
}

// Every router, with every option, computes the paper's formula.
func TestRoutersAreTheirFormulas(t *testing.T) {
	const B, T, H, V, D = 2, 3, 2, 4, 5
	checked := map[string]bool{}
	for _, c := range []struct{ name, options string }{
		{"none", ""}, {"wide", ""},
		{"cler", ""}, {"cler", "gamma=head"}, {"cler", "gamma=channel norm=rms"}, {"cler", "gamma=gate error=bare"},
		{"cler", "from=mean"}, {"cler", "from=softmax gamma=head"}, {"cler", "from=softmax error=bare norm=rms"},
		{"attnres", ""},
		{"cler-h", ""}, {"cler-h", "rank=3"}, {"clvr", "norm=rms"}, {"clvr", "rank=2 norm=rms"}, {"both", ""}, {"gated", "rank=2"}, {"self", "norm=rms"},
	} {
		checked[c.name] = true
		o := map[string]string{}
		for _, w := range strings.Fields(c.options) {
			key, value, _ := strings.Cut(w, "=")
			o[key] = value
		}
		hosts := slices.Repeat([]Host{{Mixer: "gdn", Heads: H, Value: V, Error: true, Bare: true}}, 3)
		r, err := New(c.name, Layers{Width: D, Hosts: hosts}, o)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 2))
		h := check.Random(rng, 1, B, T, D)
		args := []any{h.Tensor()}
		var arrays []check.Array
		for range 3 * 3 { // u, r, v of three layers
			a := check.Random(rng, 1, B, T, H, V)
			arrays, args = append(arrays, a), append(args, a.Tensor())
		}
		set := param.NewSet(dtypes.Float64, 3, nil)
		exec := model.MustNewExec(check.Backend(), set.Store, func(_ *model.Scope, in []*Node) (*Node, *Node) {
			at := Site{Scope: set.At(in[0].Graph()), Layer: 2, Show: func(string, func() *Node) {}}
			for i := range 3 {
				at.Offers = append(at.Offers, map[string]*Node{"u": in[1+3*i], "r": in[2+3*i], "v": in[3+3*i]})
			}
			return r.Write(at, in[9]), r.Leave(at, in[0])
		})
		exec.MustCall(args...) // makes the parameters
		p := map[string][]float64{}
		for _, e := range set.Entries() {
			x := check.Random(rng, 0.7, e.Dims...)
			p[e.Name] = x.Values
			if err := e.Variable().SetValue(x.Tensor()); err != nil {
				t.Fatal(err)
			}
		}
		out := exec.MustCall(args...)
		v, left := tensors.MustCopyFlatData[float64](out[0]), tensors.MustCopyFlatData[float64](out[1])
		var wantV, wantH []float64
		for i := range B * T {
			k := token{H: H, V: V, h: h.Values[i*D:][:D], p: p}
			for l := range 3 {
				offers := map[string][]float64{}
				for j, name := range []string{"u", "r", "v"} {
					offers[name] = arrays[3*l+j].Values[i*H*V:][:H*V]
				}
				k.offers = append(k.offers, offers)
			}
			k.v = k.offers[2]["v"]
			nextV, nextH := k.v, k.h
			switch {
			case c.name == "cler":
				nextV = k.cler(o)
			case c.name == "attnres":
				nextV = k.attnres()
			case signals[c.name] != nil:
				nextH = k.leave(o, signals[c.name](k))
			}
			wantV, wantH = append(wantV, nextV...), append(wantH, nextH...)
		}
		if e := max(check.RelErr(v, wantV), check.RelErr(left, wantH)); !(e < 1e-13) {
			t.Errorf("%s %s: off by %.2g (parameters %v)", c.name, c.options, e, slices.Sorted(maps.Keys(p)))
		}
	}
	for _, k := range Registry {
		if !checked[k.Name] {
			t.Errorf("router %s has no formula here", k.Name)
		}
	}
}
