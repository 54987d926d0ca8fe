package check

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/support/exceptions"
)

func TestRelErr(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{1, 2}, []float64{1, 2}, 0},
		{[]float64{1, 2.5}, []float64{1, 2}, 0.25},
		{[]float64{1, -2}, []float64{1, 2}, 2},
		{[]float64{0.5, 0}, []float64{0, 0}, 0.5},
		{[]float64{nan, 2}, []float64{1, 2}, inf},
		{[]float64{inf, 2}, []float64{inf, 2}, inf},
		{[]float64{1, 2}, []float64{1, nan}, inf},
		{nil, nil, 0},
	} {
		if got := RelErr(c.a, c.b); got != c.want {
			t.Errorf("RelErr(%v, %v) = %g, expected %g", c.a, c.b, got, c.want)
		}
	}
	if err := exceptions.TryCatch[any](func() { RelErr([]float64{1}, nil) }); err != "check: comparing 1 values with 0" {
		t.Errorf("different lengths: %v", err)
	}
}

func TestGradients(t *testing.T) {
	ins := []Array{{Dims: []int{2}, Values: []float64{3, 5}}, {Dims: []int{2}, Values: []float64{0.1, 4}}}
	fn := func(x []*Node) []*Node { return []*Node{Mul(x[0], x[1]), x[0], x[1]} }
	for _, dtype := range []dtypes.DType{dtypes.Float32, dtypes.Float64} {
		outs, grads, err := Gradients(Backend(), dtype, fn, ins, []Array{{Dims: []int{2}, Values: []float64{1, 2}}, {}, {Dims: []int{2}, Values: []float64{10, 20}}})
		if err != nil {
			t.Fatal(err)
		}
		tenth := 0.1
		if dtype == dtypes.Float32 {
			tenth = float64(float32(0.1)) // inputs are rounded first
		}
		if !slices.Equal(outs[2].Values, []float64{tenth, 4}) || !slices.Equal(grads[0].Values, []float64{tenth, 8}) || !slices.Equal(grads[1].Values, []float64{13, 30}) {
			t.Errorf("%s: %v, gradients %v", dtype, outs, grads)
		}
	}
	outs, grads, err := Gradients(Backend(), dtypes.Float64, fn, ins, nil)
	if err != nil || len(outs) != 3 || grads != nil {
		t.Errorf("without weights: %v, %v, %v", outs, grads, err)
	}
	_, _, err = Gradients(Backend(), dtypes.Float64, func(x []*Node) []*Node {
		return []*Node{Add(x[0], Ones(x[0].Graph(), x[0].Shape())), MatMul(x[0], ReduceAllSum(x[1]))}
	}, ins, nil)
	if err == nil || !strings.Contains(err.Error(), "MatMul") {
		t.Errorf("a graph that cannot be built: %v", err)
	}
}

func TestRandomIsReproducible(t *testing.T) {
	draw := func() Array { return Random(rand.New(rand.NewPCG(1, 2)), 2, 100, 50) }
	a, b := draw(), draw()
	if !slices.Equal(a.Values, b.Values) || !slices.Equal(a.Dims, []int{100, 50}) {
		t.Error("two draws with one seed differ")
	}
	square := 0.0
	for _, v := range a.Values {
		square += v * v / 5000
	}
	if math.Abs(square-4) > 0.5 {
		t.Errorf("variance %g, expected 4", square)
	}
}
