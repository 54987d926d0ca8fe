package mixer

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/delta"
)

// evaluate runs fn and the gradients of the sum of its outputs.
func evaluate(t *testing.T, dtype dtypes.DType, fn func(x []*Node) []*Node, ins ...check.Array) (outs, grads []check.Array) {
	t.Helper()
	outs, grads, err := check.Gradients(check.Backend(), dtype, func(x []*Node) []*Node {
		ys := fn(x)
		sum := ScalarZero(x[0].Graph(), dtype)
		for _, y := range ys {
			sum = Add(sum, ReduceAllSum(ConvertDType(y, dtype)))
		}
		return append([]*Node{sum}, ys...)
	}, ins, []check.Array{{Values: []float64{1}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range slices.Concat(outs, grads) {
		for _, v := range a.Values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("%s: not finite: %v, gradients %v", dtype, outs, grads)
			}
		}
	}
	return outs[1:], grads
}

func array(values []float64, dims ...int) check.Array {
	return check.Array{Dims: dims, Values: values}
}

// near fails where got is further from want than tol times max(|want|, floor).
func near(t *testing.T, what string, got, want []float64, tol, floor float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tol*max(floor, math.Abs(want[i]))) {
			t.Errorf("%s: value %d is %.9g, expected %.9g", what, i, got[i], want[i])
		}
	}
}

var tolerance = map[dtypes.DType]float64{dtypes.Float32: 1e-6, dtypes.Float64: 1e-14}

// The log-decay -exp(logA) softplus(x), also where one factor overflows and the
// other vanishes: no decay at (100, -200), all forgotten at (100, 200).
func TestStepDecay(t *testing.T) {
	logA := []float64{100, 100, -200, 0, 1.5, 2.7, 0}
	x := []float64{-200, 200, 200, 2, -3, 0.5, -50}
	g, dA, dx := make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(x))
	for i := range x {
		g[i] = -math.Exp(logA[i]) * math.Log1p(math.Exp(x[i]))
		dA[i], dx[i] = g[i], -math.Exp(logA[i])/(1+math.Exp(-x[i]))
	}
	g[1], dA[1], dx[1] = -forgotten, -forgotten, -forgotten
	for dtype, tol := range tolerance {
		outs, grads := evaluate(t, dtype, func(x []*Node) []*Node { return []*Node{stepDecay(x[0], x[1])} },
			array(logA, len(x)), array(x, len(x)))
		near(t, "log-decay", outs[0].Values, g, 4*tol, 1e-30)
		near(t, "gradient of logA", grads[0].Values, dA, 4*tol, 1e-30)
		near(t, "gradient of x", grads[1].Values, dx, 4*tol, 1e-30)
		// The rate of a head is shared by its tokens and channels.
		_, grads = evaluate(t, dtype, func(x []*Node) []*Node { return []*Node{stepDecay(x[0], x[1])} },
			array([]float64{0.3, -1}, 1, 1, 2, 1), array([]float64{-2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 1, 2, 2, 3))
		want := make([]float64, 2)
		for i := range 12 {
			want[i/3%2] -= math.Exp([]float64{0.3, -1}[i/3%2]) * math.Log1p(math.Exp(float64(i-2)))
		}
		near(t, "gradient of a shared rate", grads[0].Values, want, 4*tol, 1)
	}
}

// The extremes on a state: it is kept to the bit, or gone, in every form.
func TestStepDecayOnTheState(t *testing.T) {
	const T = 5
	for _, form := range []delta.Form{{Recurrent: true}, {Chunk: 4}} {
		for dtype := range tolerance {
			if check.Compiled() && (form.Recurrent || dtype == dtypes.Float64) {
				continue
			}
			outs, _ := evaluate(t, dtype, func(x []*Node) []*Node {
				zero := ZerosLike(x[1])
				out := delta.Run(delta.Inputs{Q: OnesLike(x[1]), K: zero, Erase: zero, Write: zero,
					LogDecay: Reshape(stepDecay(x[0], x[1]), 2, T, 1), State: x[2]}, form)
				return []*Node{out.State, out.O}
			}, array([]float64{100}, 1, 1, 1, 1), array(slices.Concat(slices.Repeat([]float64{-200}, T), slices.Repeat([]float64{200}, T)), 2, T, 1, 1),
				array([]float64{0.7, 0.7}, 2, 1, 1, 1))
			kept := 0.7
			if dtype == dtypes.Float32 {
				kept = float64(float32(kept))
			}
			if !slices.Equal(outs[0].Values, []float64{kept, 0}) {
				t.Errorf("%+v %s: states %v, expected %v and 0", form, dtype, outs[0].Values, kept)
			}
			want := append(slices.Repeat([]float64{kept}, T), make([]float64, T)...)
			if !slices.Equal(outs[1].Values, want) {
				t.Errorf("%+v %s: outputs %v", form, dtype, outs[1].Values)
			}
		}
	}
}

// Two bounds go by the name of a safe gate: max(-exp(A) softplus(x), lb) and
// lb σ(exp(A) x).
func TestSafeGates(t *testing.T) {
	outs, _ := evaluate(t, dtypes.Float64, func(x []*Node) []*Node {
		return []*Node{MaxScalar(stepDecay(x[0], x[1]), -5), safeDecay(x[0], x[1], -5)}
	}, array([]float64{0, 0, 0}, 3), array([]float64{2, 100, -100}, 3))
	near(t, "clamp", outs[0].Values, []float64{-2.126928, -5, 0}, 1e-6, 1)
	near(t, "safe", outs[1].Values, []float64{-4.403985, -5, 0}, 1e-6, 1)
}

// β = 1/(‖k‖²+ε) and the write gain β‖k‖, which is at most 500 at ε = 1e-6.
func TestKaczmarzStep(t *testing.T) {
	norms := []float64{1, 1e-1, 1e-3, 1e-6, 0}
	var k []float64
	for _, n := range norms {
		k = append(k, 0.6*n, -0.8*n)
	}
	ones := slices.Repeat([]float64{1}, len(norms))
	run := func(dtype dtypes.DType, eps float64) (outs, grads []check.Array) {
		return evaluate(t, dtype, func(x []*Node) []*Node {
			beta := kaczmarzStep(x[0], x[1], ConstAs(x[0], eps))
			return []*Node{beta, Mul(beta, Sqrt(AddScalar(ReduceSum(Square(x[0]), -1), 1e-30)))}
		}, array(k, 1, len(norms), 1, 2), array(ones, 1, len(norms), 1))
	}
	for dtype, tol := range tolerance {
		outs, grads := run(dtype, 1e-6)
		near(t, "β", outs[0].Values, []float64{1 / 1.000001, 1 / 0.010001, 5e5, 1 / 1.000001e-6, 1e6}, tol, 1)
		near(t, "gain", outs[1].Values[:4], []float64{0.999999, 9.99900009999, 500, 0.999999}, 1e-5, 1)
		if at0 := grads[0].Values[8:]; at0[0] != 0 || at0[1] != 0 {
			t.Errorf("%s: gradient at k = 0 is %v", dtype, at0)
		}
		outs, grads = run(dtype, 0)
		if beta := outs[0].Values; beta[4] != 0 || math.Abs(beta[2]-1e6) > 1 {
			t.Errorf("%s: β at ε = 0 is %v", dtype, beta)
		}
		if at0 := append(slices.Clone(grads[0].Values[8:]), grads[1].Values[4]); !slices.Equal(at0, []float64{0, 0, 0}) {
			t.Errorf("%s: gradients at k = 0, ε = 0 are %v", dtype, at0)
		}
	}
}
