package attention

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"gonum.org/v1/gonum/floats"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/kernels"
	"github.com/kalmarz/kalmarz/layers/kernels/kernelcheck"
	"github.com/kalmarz/kalmarz/layers/triton"
)

// cases are problems of all parts.
func cases(rng *rand.Rand, K int) (out []*Arrays) {
	for _, c := range []struct{ T, H, J, window int }{{1, 2, 2, 0}, {19, 4, 4, 0}, {19, 4, 2, 5}, {19, 4, 1, 1}, {16, 2, 1, 40}} {
		out = append(out, Random(rng, 2, c.T, c.H, c.J, K, c.window))
	}
	return out
}

func (a *Arrays) name() string {
	return fmt.Sprintf("T=%d H=%d J=%d K=%d window=%d", a.T, a.H, a.J, a.K, a.Window)
}

// seen is the number of pairs of a query and a key that it sees.
func (a *Arrays) seen() (n int) {
	for t := range a.T {
		keys := t + 1
		if a.Window > 0 {
			keys = min(keys, a.Window)
		}
		n += a.B * a.H * keys
	}
	return n
}

func references(t *testing.T, a *Arrays, do []float64) ([]float64, *Arrays) {
	t.Helper()
	o, err := Reference(a)
	if err != nil {
		t.Fatal(err)
	}
	d, err := ReferenceGradient(a, do)
	if err != nil {
		t.Fatal(err)
	}
	return o, d
}

// The reference's gradient is that of its values, by differences.
func TestReferenceGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, a := range cases(rng, 3) {
		do := check.Random(rng, 1, len(a.Q)).Values
		_, d := references(t, a, do)
		for _, x := range []struct{ values, grad []float64 }{{a.Q, d.Q}, {a.Key, d.Key}, {a.Value, d.Value}} {
			direction := check.Random(rng, 1, len(x.values)).Values
			loss := func(step float64) float64 {
				floats.AddScaled(x.values, step, direction)
				o, err := Reference(a)
				if err != nil {
					t.Fatal(err)
				}
				floats.AddScaled(x.values, -step, direction)
				return floats.Dot(o, do)
			}
			const step = 1e-5
			if got, want := (loss(step)-loss(-step))/(2*step), floats.Dot(direction, x.grad); !(got-want < 1e-7 && want-got < 1e-7) {
				t.Errorf("%s: %g along a direction, expected %g", a.name(), got, want)
			}
		}
	}
}

func TestAllPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, a := range cases(rng, 6) {
		do := check.Random(rng, 1, len(a.Q)).Values
		o, d := references(t, a, do)
		got, grads, err := Evaluate(check.Backend(), dtypes.Float64, Form{AllPairs: true}, a, do)
		if err != nil {
			t.Fatal(err)
		}
		if value, gradient, _, at := Errors(got, o, grads, d); !(value < 1e-13 && gradient < 1e-12) {
			t.Errorf("%s: off by %.1e, gradient of %s by %.1e", a.name(), value, at, gradient)
		}
	}
}

func TestChecks(t *testing.T) {
	a := Random(rand.New(rand.NewPCG(5, 6)), 1, 3, 4, 2, 2, 0)
	a.J = 3
	if _, err := Reference(a); err == nil {
		t.Error("3 key heads for 4 are accepted")
	}
	a.J, a.T = 2, 4
	want := "attention: q, k, v have 24, 12, 12 values, expected 32, 16, 16"
	if _, _, err := Evaluate(check.Backend(), dtypes.Float64, Form{}, a, nil); fmt.Sprint(err) != want {
		t.Errorf("%v, expected %s", err, want)
	}
}

// The kernels in a graph: arrays and gradients find their places.
func TestKernelForm(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	limit := kernels.Find("attention").Tolerance[triton.F32]
	for _, a := range cases(rng, 16) {
		do := check.Random(rng, 1, len(a.Q)).Values
		o, d := references(t, a, do)
		queries, keys := []int{a.B, a.T, a.H, a.K}, []int{a.B, a.T, a.J, a.K}
		got, calls, err := kernelcheck.Interpret(func(x []*Node) []*Node {
			in := Inputs{Q: x[0], K: x[1], V: x[2], Window: a.Window}
			if err := in.KernelError(); err != nil {
				t.Error(err)
			}
			o := Run(in, Form{Kernel: true})
			outs := append([]*Node{o}, Gradient(ReduceAllSum(Mul(o, x[3])), x[0], x[1], x[2])...)
			if got, want := grad.ProductFLOPs(o.Graph()), 7*2*float64(a.seen()*a.K); got != want {
				t.Errorf("%s: %g operations, want %g: seven products of what is seen", a.name(), got, want)
			}
			return outs
		}, []check.Array{{Dims: queries, Values: a.Q}, {Dims: keys, Values: a.Key}, {Dims: keys, Values: a.Value}, {Dims: queries, Values: do}})
		if err != nil {
			t.Fatal(err)
		}
		if len(calls) != 2 {
			t.Errorf("%s: kernels called: %v, expected a forward and a backward pass", a.name(), calls)
		}
		value, gradient, _, at := Errors(got[0], o, &Arrays{Q: got[1], Key: got[2], Value: got[3]}, d)
		if !(value < limit.Value && gradient < limit.Gradient) {
			t.Errorf("%s: off by %.1e, gradient of %s by %.1e", a.name(), value, at, gradient)
		}
	}
}

// What the kernels cannot take is left to the graph form, and said.
func TestKernelErrors(t *testing.T) {
	f, bf, d := dtypes.Float32, dtypes.BFloat16, dtypes.Float64
	for _, c := range []struct {
		S, J, K, V int
		q, kv      dtypes.DType
		want       string
		valid      bool // for the graph form
	}{
		{3, 2, 16, 16, f, f, "there are none for 2 tokens on a cache, 3 rows in all", true},
		{2, 2, 16, 32, f, f, "values of width 32: must be as wide as keys, 16", true},
		{2, 2, 24, 24, f, f, "width 24: must be among [16 32 64 128] for Float32", true},
		{2, 2, 24, 24, bf, bf, "width 24: must be among [16 32 64 128 256] for BFloat16", true},
		{2, 2, 16, 16, d, d, "Float64: must be bfloat16 or float32", true},
		{2, 2, 16, 16, bf, f, "q, k and v are BFloat16, Float32 and Float32: must be of one type", false},
		{2, 3, 16, 16, f, f, "3 key heads: must divide the 4 query heads", false},
	} {
		zeros := func(dims ...int) check.Array {
			return check.Array{Dims: dims, Values: make([]float64, dims[1]*dims[2]*dims[3])}
		}
		_, calls, err := kernelcheck.Interpret(func(x []*Node) []*Node {
			in := Inputs{Q: ConvertDType(x[0], c.q), K: ConvertDType(x[1], c.kv), V: ConvertDType(x[2], c.kv)}
			if err := in.KernelError(); fmt.Sprint(err) != "kernels: attention: "+c.want {
				t.Errorf("%v, expected %s", err, c.want)
			}
			if !c.valid {
				return x
			}
			return []*Node{Run(in, Form{Kernel: true})}
		}, []check.Array{zeros(1, 2, 4, c.K), zeros(1, c.S, c.J, c.K), zeros(1, c.S, c.J, c.V)})
		if err != nil || len(calls) != 0 {
			t.Errorf("%s: kernels called: %v, error %v", c.want, calls, err)
		}
	}
}
