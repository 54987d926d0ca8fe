package grad

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
)

// differentiate compares the gradients that fn's graph has with central
// differences, for a loss with random weights on every output; outputs whose
// index is in unused have no part in it.
func differentiate(t *testing.T, name string, fn func(x []*Node) []*Node, ins []check.Array, unused ...int) {
	t.Helper()
	g := NewGraph(check.Backend(), "")
	var x []*Node
	for i, in := range ins {
		x = append(x, Parameter(g, fmt.Sprint("x", i), in.Tensor().Shape()))
	}
	var w []check.Array
	for i, y := range fn(x) {
		w = append(w, check.Random(rand.New(rand.NewPCG(2, uint64(i))), 1, y.Shape().Dimensions...))
	}
	for _, i := range unused {
		w[i] = check.Array{}
	}
	g.Finalize()
	_, grads, err := check.Gradients(check.Backend(), dtypes.Float64, fn, ins, w)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	exec := MustNewExec(check.Backend(), func(x []*Node) []*Node { return fn(x) })
	defer exec.Finalize()
	loss := func() float64 {
		var args []any
		for _, in := range ins {
			args = append(args, in.Tensor())
		}
		sum := 0.0
		for i, y := range exec.MustCall(args...) {
			values := flat(y)
			for j, v := range w[i].Values {
				sum += v * values[j]
			}
			y.MustFinalizeAll()
		}
		return sum
	}
	for i, in := range ins {
		numeric := make([]float64, len(in.Values))
		for j, at := range in.Values {
			const h = 1e-5
			in.Values[j] = at + h
			up := loss()
			in.Values[j] = at - h
			numeric[j] = (up - loss()) / (2 * h)
			in.Values[j] = at
		}
		if e := check.RelErr(grads[i].Values, numeric); !(e < 1e-8) {
			t.Errorf("%s: gradient %d is off by %.2g: %v, differences give %v", name, i, e, grads[i].Values, numeric)
		}
	}
}

func TestGradientsAreDerivatives(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	one := func(f func(x *Node) *Node) func([]*Node) []*Node {
		return func(x []*Node) []*Node { return []*Node{f(x[0])} }
	}
	two := func(f func(a, b *Node) *Node) func([]*Node) []*Node {
		return func(x []*Node) []*Node { return []*Node{f(x[0], x[1])} }
	}
	for _, c := range []struct {
		name string
		fn   func([]*Node) []*Node
		dims [][]int
	}{
		{"BMM", two(BMM), [][]int{{2, 2, 3}, {2, 3, 4}}},
		{"BMMNT", two(BMMNT), [][]int{{2, 2, 3}, {2, 4, 3}}},
		{"BMMTN", two(BMMTN), [][]int{{2, 3, 2}, {2, 3, 4}}},
		{"Project", two(Project), [][]int{{2, 2, 3}, {3, 2}}},
		{"SoftPlus", one(SoftPlus), [][]int{{7}}},
		{"LogSigmoid", one(LogSigmoid), [][]int{{7}}},
		{"SiLU", one(SiLU), [][]int{{7}}},
		{"L2", one(func(x *Node) *Node { return L2(x, 0.1) }), [][]int{{2, 3}}},
		{"SumSquares", one(SumSquares), [][]int{{2, 3}}},
		{"RMSNorm", two(func(x, w *Node) *Node { return RMSNorm(x, w, 0.1) }), [][]int{{2, 3}, {3}}},
		{"RMSNorm without weight", one(func(x *Node) *Node { return RMSNorm(x, nil, 0.1) }), [][]int{{2, 3}}},
		{"PadTo", one(func(x *Node) *Node { return Square(PadTo(x, 1, 5)) }), [][]int{{2, 3, 2}}},
		{"PadTo nothing", one(func(x *Node) *Node { return PadTo(x, 1, 3) }), [][]int{{2, 3, 2}}},
		{"Unstack", func(x []*Node) []*Node { return Unstack(Square(x[0]), 1) }, [][]int{{2, 3, 2}}},
		{"Unstack one", func(x []*Node) []*Node { return Unstack(Square(x[0]), 0) }, [][]int{{1, 3}}},
		{"Cut", func(x []*Node) []*Node { return Cut(Square(x[0]), 1, 2, 1, 3) }, [][]int{{2, 6}}},
		{"Cut one", func(x []*Node) []*Node { return Cut(x[0], 1, 6) }, [][]int{{2, 6}}},
	} {
		var ins []check.Array
		for _, d := range c.dims {
			ins = append(ins, check.Random(rng, 1, d...))
		}
		differentiate(t, c.name, c.fn, ins)
	}
	// Parts of a division that the loss does not use count as zero.
	x := []check.Array{check.Random(rng, 1, 2, 6)}
	differentiate(t, "Cut with unused parts", func(x []*Node) []*Node { return Cut(Square(x[0]), 1, 2, 1, 3) }, x, 0, 2)
	differentiate(t, "Unstack with unused slices", func(x []*Node) []*Node { return Unstack(Square(x[0]), 1) }, x, 1, 3)
}

// rotation is a Custom of two inputs and three outputs with a gradient for the
// first input only if both is false.
func rotation(both bool) func(x []*Node) []*Node {
	return func(x []*Node) []*Node {
		return Custom(x, func(x []*Node) []*Node {
			return []*Node{Mul(x[0], x[1]), Sub(x[0], x[1]), Square(x[0])}
		}, func(x, y, d []*Node) []*Node {
			first := Add(Add(Mul(d[0], x[1]), d[1]), Mul(MulScalar(x[0], 2), d[2]))
			if !both {
				return []*Node{first, nil}
			}
			return []*Node{first, Sub(Mul(d[0], x[0]), d[1])}
		})
	}
}

func TestCustom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	ins := []check.Array{check.Random(rng, 1, 2, 3), check.Random(rng, 1, 2, 3)}
	for _, unused := range [][]int{nil, {0}, {1}, {2}, {0, 1}, {1, 2}} {
		differentiate(t, fmt.Sprint("Custom, unused ", unused), rotation(true), ins, unused...)
	}
	differentiate(t, "Custom of a Custom", func(x []*Node) []*Node {
		y := rotation(true)(x)
		return rotation(true)([]*Node{y[2], y[0]})
	}, ins)
	differentiate(t, "Custom whose result is used twice", func(x []*Node) []*Node {
		y := rotation(true)([]*Node{x[0], x[0]})
		return []*Node{Add(y[0], Mul(y[2], y[0]))}
	}, ins[:1])

	// Two passes of Gradient over one graph: the second does not see the first.
	grads := evaluate(t, func(x []*Node) []*Node {
		y := rotation(true)(x)
		first := Gradient(ReduceAllSum(y[0]), x...)
		second := Gradient(ReduceAllSum(Add(y[1], y[2])), x...)
		return append(first, second...)
	}, ins)
	a, b := ins[0].Values, ins[1].Values
	for i := range a {
		for j, want := range []float64{b[i], a[i], 1 + 2*a[i], -1} {
			if got := grads[j].Values[i]; math.Abs(got-want) > 1e-15 {
				t.Errorf("pass %d, input %d: %g, expected %g", j/2, j%2, got, want)
			}
		}
	}

	// A nil gradient is zero, and so is that of an input no output's loss needs.
	grads = evaluate(t, func(x []*Node) []*Node {
		return Gradient(ReduceAllSum(rotation(false)(x)[0]), x...)
	}, ins)
	for i := range a {
		if grads[0].Values[i] != b[i] || grads[1].Values[i] != 0 {
			t.Errorf("gradients %g and %g, expected %g and 0", grads[0].Values[i], grads[1].Values[i], b[i])
		}
	}
}
