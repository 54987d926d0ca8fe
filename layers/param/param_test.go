package param

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/kalmarz/kalmarz/layers/check"
)

// use builds a graph with parameters of set in the order of names, and runs it.
func use(t *testing.T, set *Set, names ...string) {
	t.Helper()
	exec, err := model.NewExec(check.Backend(), set.Store, func(_ *model.Scope, x *graph.Node) *graph.Node {
		root := set.At(x.Graph())
		for _, name := range names {
			p := root.In("layer").Get(name, Matrix, set.Linear(3, 1), 3, 4)
			x = graph.Add(x, graph.ReduceAllSum(p))
		}
		return graph.Add(x, root.Setting("eta", 0.5))
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.Call(tensors.FromScalar(float32(0))); err != nil {
		t.Fatal(err)
	}
	exec.Finalize()
}

// values returns a parameter's values.
func values(t *testing.T, set *Set, name string) []float32 {
	t.Helper()
	for _, e := range set.Entries() {
		if e.Name == name {
			v, err := e.Variable().Value()
			if err != nil {
				t.Fatal(err)
			}
			return tensors.MustCopyFlatData[float32](v)
		}
	}
	t.Fatalf("no parameter %s", name)
	return nil
}

func TestValuesDependOnSeedAndNameAlone(t *testing.T) {
	a, b, c := NewSet(dtypes.Float32, 7, nil), NewSet(dtypes.Float32, 7, nil), NewSet(dtypes.Float32, 8, nil)
	use(t, a, "wq", "wk")
	use(t, b, "wv", "wk", "wq") // another model, built in another order
	use(t, c, "wq", "wk")
	for _, name := range []string{"layer/wq", "layer/wk"} {
		if !slices.Equal(values(t, a, name), values(t, b, name)) {
			t.Errorf("two models with %s and one seed differ in it", name)
		}
		if slices.Equal(values(t, a, name), values(t, c, name)) {
			t.Errorf("%s is the same under two seeds", name)
		}
	}
	if slices.Equal(values(t, a, "layer/wq"), values(t, a, "layer/wk")) {
		t.Error("two parameters have the same values")
	}
	if a.Count() != 24 || len(a.Entries()) != 3 {
		t.Errorf("%d trained values in %d parameters, expected 24 in 3", a.Count(), len(a.Entries()))
	}
	for _, e := range a.Entries() {
		if e.Variable().Trainable != (e.Role != Fixed) {
			t.Errorf("%s: trainable %v", e.Name, e.Variable().Trainable)
		}
	}
}

func TestResetRestores(t *testing.T) {
	set, fresh := NewSet(dtypes.Float32, 7, nil), NewSet(dtypes.Float32, 9, nil)
	use(t, set, "wq")
	use(t, fresh, "wq")
	first := values(t, set, "layer/wq")
	if err := set.SetFixed("eta", 0.25); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		seed uint64
		want []float32
	}{{9, values(t, fresh, "layer/wq")}, {7, first}} {
		set.Entries()[0].Variable().SetValue(tensors.FromValue([][]float32{{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}}))
		if err := set.Reset(c.seed); err != nil {
			t.Fatal(err)
		}
		if got := values(t, set, "layer/wq"); !slices.Equal(got, c.want) {
			t.Errorf("seed %d after a reset: %v, expected %v", c.seed, got, c.want)
		}
		if got := values(t, set, "eta"); got[0] != 0.25 {
			t.Errorf("a reset changed a setting to %g", got[0])
		}
	}
}

// A setting changes what a compiled graph computes, without compiling again.
func TestSettingsAreNotCompiledIn(t *testing.T) {
	set, compiled := NewSet(dtypes.Float32, 7, nil), 0
	exec, err := model.NewExec(check.Backend(), set.Store, func(_ *model.Scope, x *graph.Node) *graph.Node {
		compiled++
		return graph.Mul(x, set.At(x.Graph()).Setting("eta", 0.5))
	})
	if err != nil {
		t.Fatal(err)
	}
	defer exec.Finalize()
	for i, want := range []float32{5, 20} {
		if i == 1 {
			if err := set.SetFixed("eta", 2); err != nil {
				t.Fatal(err)
			}
		}
		y, err := exec.Call1(tensors.FromScalar(float32(10)))
		if err != nil {
			t.Fatal(err)
		}
		if got := tensors.ToScalar[float32](y); got != want {
			t.Errorf("with setting %d: %g, expected %g", i, got, want)
		}
	}
	if compiled != 1 {
		t.Errorf("the graph was built %d times", compiled)
	}
}

func TestErrorsNameTheParameter(t *testing.T) {
	set := NewSet(dtypes.Float32, 7, nil)
	use(t, set, "wq")
	for _, name := range []string{"layer/wq", "nothing"} {
		if err := set.SetFixed(name, 1); err == nil || err.Error() != "parameter "+name+": not a setting of this model" {
			t.Errorf("SetFixed(%s): %v", name, err)
		}
	}
	g := graph.NewGraph(check.Backend(), "")
	defer g.Finalize()
	err := exceptions.TryCatch[error](func() { set.At(g).In("layer").Get("wq", Matrix, Constant(0), 4, 3) })
	if err == nil || !strings.Contains(err.Error(), "parameter layer/wq is [3 4], expected [4 3]") {
		t.Errorf("another shape: %v", err)
	}
}

func TestInitialValues(t *testing.T) {
	const n = 20000
	draw := func(init Init) []float64 {
		out := make([]float64, n)
		init(rand.New(rand.NewPCG(1, 2)), out)
		return out
	}
	softplus := func(x float64) float64 { return math.Log1p(math.Exp(x)) }
	same := func(x float64) float64 { return x }
	for _, c := range []struct {
		name           string
		init           Init
		of             func(float64) float64
		lo, hi         float64
		mean, variance float64
	}{
		{"Constant", Constant(3), same, 3, 3, 3, 0},
		{"Uniform", Uniform(-1, 2), same, -1, 2, 0.5, 0.75},
		{"Normal", Normal(2), same, -12, 12, 0, 4},
		{"Torch", Torch(4), same, -0.5, 0.5, 0, 1.0 / 12},
		{"LogUniformA", LogUniformA(1, 16), math.Exp, 1, 16, 8.5, 15.0 * 15 / 12},
		{"StepSize", StepSize(1e-3, 1e-1), func(x float64) float64 { return math.Log(softplus(x)) }, math.Log(1e-3), math.Log(1e-1),
			math.Log(1e-2), math.Pow(math.Log(100), 2) / 12},
	} {
		mean, square := 0.0, 0.0
		for _, x := range draw(c.init) {
			x = c.of(x)
			if x < c.lo-1e-9 || x > c.hi+1e-9 {
				t.Fatalf("%s: %g is not in [%g, %g]", c.name, x, c.lo, c.hi)
			}
			mean, square = mean+x/n, square+x*x/n
		}
		sd := math.Sqrt(c.variance)
		if math.Abs(mean-c.mean) > 5*sd/math.Sqrt(n)+1e-9 || math.Abs(square-mean*mean-c.variance) > 0.05*c.variance+1e-9 {
			t.Errorf("%s: mean %g, variance %g, expected %g and %g", c.name, mean, square-mean*mean, c.mean, c.variance)
		}
	}
	eye := make([]float64, 9)
	Identity(3)(nil, eye)
	if !slices.Equal(eye, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}) {
		t.Errorf("identity: %v", eye)
	}
}
