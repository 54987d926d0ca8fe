package route_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	gomodel "github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/model"
	"github.com/kalmarz/kalmarz/layers/param"
	"github.com/kalmarz/kalmarz/layers/route"
)

const (
	rows, length = 2, 7
	vocab        = 7
)

// stack is a model of the mixers, small, with a router and its options as
// "name key=value ...".
func stack(t *testing.T, router string, mixers ...string) *model.Model {
	t.Helper()
	m, err := model.New(config(router, mixers...))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func config(router string, mixers ...string) model.Config {
	c := model.Config{Vocab: vocab, Classes: vocab, Width: 8, MLP: 6, NormEps: 1e-5, RouteOptions: map[string]string{}}
	for _, name := range mixers {
		o := map[string]string{"heads": "2", "dk": "4", "dv": "3", "conv": "3"}
		if name == "softmax" {
			o = map[string]string{"heads": "2"}
		}
		c.Layers = append(c.Layers, model.Layer{Mixer: name, Options: o})
	}
	for i, w := range strings.Fields(router) {
		if key, value, _ := strings.Cut(w, "="); i > 0 {
			c.RouteOptions[key] = value
		} else {
			c.Route = key
		}
	}
	return c
}

// deltaRules are the mixers that offer an error; fewer where graphs are
// compiled.
func deltaRules() (names []string) {
	if check.Compiled() {
		return []string{"kaczmarz"}
	}
	for _, k := range mixer.Registry {
		if k.Error != mixer.NoError {
			names = append(names, k.Name)
		}
	}
	return names
}

// routers are all of them, and the options that change their graphs.
func routers() []string {
	if check.Compiled() {
		return []string{"cler", "clvr"}
	}
	return append(route.Names(), "cler gamma=head norm=rms", "cler gamma=channel", "cler gamma=gate", "cler from=mean detach=true",
		"cler from=softmax", "attnres detach=true", "cler-h rank=2", "clvr hosts=all norm=rms", "self rank=2", "gated detach=true")
}

func someTokens() *tensors.Tensor {
	rng := rand.New(rand.NewPCG(4, 4))
	ids := make([]int32, rows*length)
	for i := range ids {
		ids[i] = rng.Int32N(vocab)
	}
	return tensors.FromFlatDataAndDimensions(ids, rows, length)
}

// runner evaluates a model on the tokens, with its loss's gradients or without.
type runner struct {
	set  *param.Set
	exec *gomodel.Exec
}

func newRunner(m *model.Model, dtype dtypes.DType, gradients bool) *runner {
	r := &runner{set: param.NewSet(dtype, 3, nil)}
	r.exec = gomodel.MustNewExec(check.Backend(), r.set.Store, func(_ *gomodel.Scope, x *Node) []*Node {
		y, _ := m.Apply(r.set.At(x.Graph()), delta.Form{}, x, nil)
		weight := Sin(Iota(x.Graph(), y.Shape(), 2))
		loss := ReduceAllSum(Mul(weight, LogSoftmax(y)))
		outs := []*Node{y, loss}
		if gradients {
			var wrt []*Node
			for _, e := range r.set.Entries() {
				wrt = append(wrt, e.Variable().NodeValue(x.Graph()))
			}
			outs = append(outs, Gradient(loss, wrt...)...)
		}
		return outs
	})
	return r
}

func (r *runner) run(t *testing.T) []*tensors.Tensor {
	t.Helper()
	out, err := r.exec.Call(someTokens())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// stir gives the router's parameters values as training might.
func (r *runner) stir(t *testing.T) {
	t.Helper()
	rng := rand.New(rand.NewPCG(8, 9))
	for _, e := range r.set.Entries() {
		switch {
		case strings.Contains(e.Name, "/route/"):
			set(t, e, check.Random(rng, 0.4, e.Dims...).Values)
		case e.Name == "embedding": // not so small that norms turn within a step
			set(t, e, check.Random(rng, 1, e.Dims...).Values)
		}
	}
}

func set(t *testing.T, e *param.Entry, values []float64) {
	t.Helper()
	if err := e.Variable().SetValue(tensors.FromFlatDataAndDimensions(values, e.Dims...)); err != nil {
		t.Fatal(err)
	}
}

// Fresh routers that say so change no byte of the logits, on any host, and those
// that do not say so change some. A compiler fuses two graphs in two ways and
// rounds them so: there equal means to rounding.
func TestFreshRoutersAreTheBaseline(t *testing.T) {
	for i, host := range deltaRules() {
		base := newRunner(stack(t, "none", host, "softmax", host), dtypes.Float32, false)
		want := tensors.MustCopyFlatData[float32](base.run(t)[0])
		names := routers()
		if i > 0 {
			names = []string{"cler", "both"} // the others see no more of a host
		}
		for _, name := range names {
			c := config(name, host, "softmax", host)
			m, err := model.New(c)
			if err != nil {
				t.Fatalf("%s on %s: %v", name, host, err)
			}
			layers := route.Layers{Width: c.Width}
			for _, l := range c.Layers {
				layers.Hosts = append(layers.Hosts, route.Host{Mixer: l.Mixer, Heads: 2, Value: 3, Error: l.Mixer != "softmax", Bare: true})
			}
			router, err := route.New(c.Route, layers, c.RouteOptions)
			if err != nil {
				t.Fatal(err)
			}
			got := tensors.MustCopyFlatData[float32](newRunner(m, dtypes.Float32, false).run(t)[0])
			same := slices.EqualFunc(got, want, func(a, b float32) bool {
				return math.Float32bits(a) == math.Float32bits(b) || check.Compiled() && math.Abs(float64(a-b)) < 1e-5
			})
			if same != router.Neutral() {
				t.Errorf("%s on %s: equal to the baseline is %v, expected %v", name, host, same, router.Neutral())
			}
		}
	}
}

// Gradients of the router's parameters and of the embedding are what the loss
// does along a random direction.
func TestRoutedGradients(t *testing.T) {
	const step = 1e-6
	try := func(name string, hosts ...string) {
		host := hosts[0]
		r := newRunner(stack(t, name, hosts...), dtypes.Float64, true)
		r.run(t)
		r.stir(t)
		out := r.run(t)
		rng := rand.New(rand.NewPCG(5, 5))
		found := 0
		last := ""
		for _, e := range r.set.Entries() {
			if strings.Contains(e.Name, "/route/") {
				last = e.Name[:strings.LastIndex(e.Name, "/")]
			}
		}
		for i, e := range r.set.Entries() {
			if !strings.Contains(e.Name, "/route/") && e.Name != "embedding" {
				continue
			}
			found++
			g := tensors.MustCopyFlatData[float64](out[2+i])
			at := tensors.MustCopyFlatData[float64](e.Variable().MustValue())
			direction := check.Random(rng, 1, e.Dims...).Values
			slope, size := 0.0, 0.0
			for j, d := range direction {
				slope += g[j] * d
				size = max(size, math.Abs(g[j]))
			}
			loss := func(sign float64) float64 {
				moved := slices.Clone(at)
				for j, d := range direction {
					moved[j] += sign * step * d
				}
				set(t, e, moved)
				return tensors.ToScalar[float64](r.run(t)[1])
			}
			numeric := (loss(1) - loss(-1)) / (2 * step)
			set(t, e, at)
			if strings.Contains(name, "detach") && !strings.HasPrefix(e.Name, last) {
				if math.Abs(numeric-slope) < 1e-4*math.Abs(numeric) {
					t.Errorf("%s on %s: %s has its full gradient in spite of detach", name, host, e.Name)
				}
				continue
			}
			if math.Abs(numeric-slope) > 1e-6*(math.Abs(numeric)+size) || size == 0 {
				t.Errorf("%s on %s: %s has slope %g, numerically %g", name, host, e.Name, slope, numeric)
			}
		}
		if c := strings.Fields(name)[0]; found < 2 && c != "none" && c != "wide" {
			t.Errorf("%s on %s: no routing parameters", name, host)
		}
	}
	for _, name := range routers() {
		if strings.Contains(name, "from=") || strings.Contains(name, "attnres") {
			try(name, "gdn", "gdn", "gdn")
		} else {
			try(name, "gdn", "softmax", "gdn")
		}
	}
	for _, host := range deltaRules() {
		if k, _ := mixer.Find(host); k.Error == mixer.WrittenAnd {
			try("cler error=bare", host, host) // of which the written one is a part
		} else {
			try("cler", host, host)
		}
	}
}

// Cutting the sequence, and decoding token by token, gives the full pass.
func TestRoutedDecoding(t *testing.T) {
	try := func(name, host string) {
		m := stack(t, name, host, "softmax", host)
		r := newRunner(m, dtypes.Float64, false)
		r.run(t)
		r.stir(t)
		want := tensors.MustCopyFlatData[float64](r.run(t)[0])
		for _, pieces := range [][]int{{3, length - 3}, slices.Repeat([]int{1}, length)} {
			got := inPieces(t, m, r.set, pieces)
			if e := check.RelErr(got, want); !(e < 1e-11) {
				t.Errorf("%s on %s in pieces %v: off by %.2g", name, host, pieces, e)
			}
		}
		d, err := m.NewDecoder(check.Backend(), r.set, delta.Form{}, length)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		ids, at := tensors.MustCopyFlatData[int32](someTokens())[:length], 0
		for _, n := range []int{3, 1, length - 4} { // logits after the last of each piece
			got, err := d.Read(ids[at : at+n])
			if err != nil {
				t.Fatal(err)
			}
			at += n
			for v, x := range got {
				if w := want[(at-1)*vocab+v]; math.Abs(float64(x)-w) > 1e-5*(1+math.Abs(w)) {
					t.Fatalf("%s on %s: the decoder's logit %d at token %d is %g, expected %g", name, host, v, at, x, w)
				}
			}
		}
	}
	for _, name := range routers() {
		try(name, "gdn")
	}
	for _, host := range deltaRules() {
		try("both", host)
	}
}

// inPieces is the model's logits with its states carried out of and into graphs.
func inPieces(t *testing.T, m *model.Model, set *param.Set, pieces []int) []float64 {
	t.Helper()
	slots := m.Slots(length)
	step := gomodel.MustNewExec(check.Backend(), set.Store, func(_ *gomodel.Scope, in []*Node) []*Node {
		states, next := make([]mixer.State, len(slots)), 1
		for i := range slots {
			states[i] = mixer.State{}
			for _, s := range slots[i] {
				states[i][s.Name] = in[next]
				next++
			}
		}
		y, after := m.Apply(set.At(in[0].Graph()), delta.Form{}, in[0], states)
		out := []*Node{y}
		for i := range slots {
			for _, s := range slots[i] {
				out = append(out, after[i][s.Name])
			}
		}
		return out
	})
	var state []any
	for i := range slots {
		for _, s := range slots[i] {
			n := rows
			for _, d := range s.Dims {
				n *= d
			}
			state = append(state, tensors.FromFlatDataAndDimensions(make([]float64, n), append([]int{rows}, s.Dims...)...))
		}
	}
	ids := tensors.MustCopyFlatData[int32](someTokens())
	y := make([]float64, rows*length*vocab)
	at := 0
	for _, n := range pieces {
		var piece []int32
		for b := range rows {
			piece = append(piece, ids[b*length+at:][:n]...)
		}
		out, err := step.Call(append([]any{tensors.FromFlatDataAndDimensions(piece, rows, n)}, state...)...)
		if err != nil {
			t.Fatal(err)
		}
		got := tensors.MustCopyFlatData[float64](out[0])
		for b := range rows {
			copy(y[(b*length+at)*vocab:], got[b*n*vocab:(b+1)*n*vocab])
		}
		for i := range state {
			state[i] = out[1+i]
		}
		at += n
	}
	return y
}
