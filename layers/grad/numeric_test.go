package grad

import (
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/kalmarz/kalmarz/layers/check"
)

func flat(x *tensors.Tensor) []float64 { return tensors.MustCopyFlatData[float64](x) }

// evaluate runs fn in float64.
func evaluate(t *testing.T, fn func(x []*Node) []*Node, ins []check.Array) []check.Array {
	t.Helper()
	outs, _, err := check.Gradients(check.Backend(), dtypes.Float64, fn, ins, nil)
	if err != nil {
		t.Fatal(err)
	}
	return outs
}

// at returns f(x) and f'(x) for each x, computed in dtype.
func at(t *testing.T, dtype dtypes.DType, f func(x *Node) *Node, x ...float64) (y, dy []float64) {
	t.Helper()
	ones := check.Array{Dims: []int{len(x)}, Values: make([]float64, len(x))}
	for i := range x {
		ones.Values[i] = 1
	}
	outs, grads, err := check.Gradients(check.Backend(), dtype, func(x []*Node) []*Node { return []*Node{f(x[0])} },
		[]check.Array{{Dims: []int{len(x)}, Values: x}}, []check.Array{ones})
	if err != nil {
		t.Fatal(err)
	}
	return outs[0].Values, grads[0].Values
}

func near(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tol*max(1, math.Abs(want[i]))) {
			t.Errorf("%s: value %d is %.9g, expected %.9g", what, i, got[i], want[i])
		}
	}
}

func TestExtremeArguments(t *testing.T) {
	for dtype, tol := range map[dtypes.DType]float64{dtypes.Float32: 2e-7, dtypes.Float64: 1e-15} {
		y, dy := at(t, dtype, SoftPlus, -200, -1, 0, 1, 200, 1e4)
		near(t, "softplus", y, []float64{0, math.Log1p(math.Exp(-1)), math.Ln2, 1 + math.Log1p(math.Exp(-1)), 200, 1e4}, tol)
		near(t, "its slope", dy, []float64{0, 1 / (1 + math.E), 0.5, 1 / (1 + math.Exp(-1)), 1, 1}, tol)
		y, dy = at(t, dtype, LogSigmoid, -1e4, -200, 0, 200)
		near(t, "log σ", y, []float64{-1e4, -200, -math.Ln2, 0}, tol)
		near(t, "its slope", dy, []float64{1, 1, 0.5, 0}, tol)
		y, dy = at(t, dtype, SiLU, -1e4, 0, 1e4)
		near(t, "silu", y, []float64{0, 0, 1e4}, tol)
		near(t, "its slope", dy, []float64{0, 0.5, 1}, tol)
	}
}

// At zero the unit vector is 0, and its slope 1/√ε, in the dtypes of both
// passes; so it is next to zero.
func TestUnitLengthAtZero(t *testing.T) {
	const eps = 1e-6
	for dtype, tol := range map[dtypes.DType]float64{dtypes.Float32: 1e-6, dtypes.Float64: 1e-12, dtypes.BFloat16: 4e-3} {
		y, dy := at(t, dtype, func(x *Node) *Node { return L2(x, eps) }, 0, 0, 0)
		near(t, "l2 at 0", y, []float64{0, 0, 0}, 0)
		near(t, "its slope", dy, []float64{1e3, 1e3, 1e3}, tol)
		y, dy = at(t, dtype, func(x *Node) *Node { return RMSNorm(x, nil, eps) }, 0, 0)
		near(t, "rms norm at 0", y, []float64{0, 0}, 0)
		near(t, "its slope", dy, []float64{1e3, 1e3}, tol)
	}
}

// Sums of squares of bfloat16 are taken and returned in float32: 4097 has more
// digits than bfloat16.
func TestNormsAreWide(t *testing.T) {
	const n = 4097
	x := check.Array{Dims: []int{1, n}, Values: make([]float64, n)}
	for i := range x.Values {
		x.Values[i] = 1
	}
	outs, _, err := check.Gradients(check.Backend(), dtypes.BFloat16, func(x []*Node) []*Node {
		return []*Node{SumSquares(x[0]), L2(x[0], 1e-6), RMSNorm(x[0], nil, 1e-6)}
	}, []check.Array{x}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{n, 1.0 / 64, 1} { // the last two are rounded
		if got := outs[i].Values[0]; got != want {
			t.Errorf("result %d is %g, expected %g", i, got, want)
		}
	}
}
