package optim_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/check/golden"
	"github.com/kalmarz/kalmarz/layers/optim"
)

// step applies an optimiser with given gradients to variables w0, w1, ... and
// returns their values.
type stepper struct {
	t     *testing.T
	store *model.Store
	exec  *model.Exec
}

func newStepper(t *testing.T, weights []check.Array, make func(g *Graph) *optim.Muon) *stepper {
	s := &stepper{t: t, store: model.NewStore()}
	for i, w := range weights {
		s.store.VariableWithValue(fmt.Sprintf("/w%d", i), w.Tensor())
	}
	exec, err := model.NewExec(check.Backend(), s.store, func(scope *model.Scope, grads []*Node) *Node {
		g := grads[0].Graph()
		for i := range weights {
			s.store.GetVariable(fmt.Sprintf("/w%d", i)).NodeValue(g)
		}
		make(g).UpdateGraphWithGradients(scope, grads, dtypes.Float64)
		return grads[0]
	})
	if err != nil {
		t.Fatal(err)
	}
	s.exec = exec
	return s
}

func (s *stepper) step(grads ...check.Array) {
	s.t.Helper()
	var args []any
	for _, g := range grads {
		args = append(args, g.Tensor())
	}
	if _, err := s.exec.Call(args...); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stepper) value(i int) []float64 {
	return tensors.MustCopyFlatData[float64](s.store.GetVariable(fmt.Sprintf("/w%d", i)).MustValue())
}

// transposed turns PyTorch's [outputs, inputs] into [inputs, outputs].
func transposed(a check.Array) check.Array {
	m, n := a.Dims[0], a.Dims[1]
	b := check.Array{Dims: []int{n, m}, Values: make([]float64, m*n)}
	for i := range m {
		for j := range n {
			b.Values[j*m+i] = a.Values[i*n+j]
		}
	}
	return b
}

func muon(g *Graph, lr, wd float64, s optim.Scaling) *optim.Muon {
	rate := Const(g, lr)
	return &optim.Muon{
		LearningRate: rate, Momentum: 0.95, Nesterov: true, WeightDecay: wd, Scaling: s, Coefficients: optim.Simple, Iterations: 5,
		Applies: func(*model.Variable) bool { return true },
		Rest:    &optim.AdamW{LearningRate: rate, Beta1: 0.9, Beta2: 0.95, Epsilon: 1e-8},
	}
}

// TestMuonEqualsPublishedSteps follows torch.optim.Muon, which iterates in
// bfloat16, over three steps. The archive holds the weights after the third in
// all its places.
func TestMuonEqualsPublishedSteps(t *testing.T) {
	f, err := os.Open("testdata/muon.npz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	a, err := golden.Read("muon.npz", f, st.Size())
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Cases) != 2 {
		t.Fatalf("%d cases, want 2", len(a.Cases))
	}
	for _, c := range a.Cases {
		rate, decay, scaling := 0.02, 0.1, optim.Jordan
		if c.Name == "match_rms" {
			rate, decay, scaling = 1e-3, 0, optim.Moonlight
		}
		get := func(name string, i, step int) check.Array {
			x, ok := c.Arrays[fmt.Sprintf("%s%d_step%d", name, i, step)]
			if !ok {
				t.Fatalf("%s: no %s%d_step%d", c.Name, name, i, step)
			}
			return transposed(x)
		}
		s := newStepper(t, []check.Array{get("w", 0, 0), get("w", 1, 0)}, func(g *Graph) *optim.Muon {
			u := muon(g, rate, decay, scaling)
			u.BFloat16 = true
			return u
		})
		for step := range 3 {
			s.step(get("g", 0, step), get("g", 1, step))
		}
		for i := range 2 {
			if e := check.RelErr(s.value(i), get("w", i, 3).Values); !(e < 1e-9) {
				t.Errorf("%s: matrix %d is off by %.2g", c.Name, i, e)
			}
		}
	}
}

// TestNorMuonStep writes out the step of a matrix whose orthogonalisation is
// known: a multiple of the identity stays one, scaled by the polynomial.
func TestNorMuonStep(t *testing.T) {
	const n, lr, wd = 4, 0.1, 0.2
	eye := check.Array{Dims: []int{n, n}, Values: make([]float64, n*n)}
	for i := range n {
		eye.Values[i*n+i] = 3
	}
	s := newStepper(t, []check.Array{eye}, func(g *Graph) *optim.Muon {
		u := muon(g, lr, wd, optim.Spectral)
		u.NorMuon = &optim.NorMuon{Beta: 0.95}
		return u
	})
	s.step(eye)
	x := 1 / math.Sqrt(n) / (1 + 1e-7/(3*math.Sqrt(n)*(0.05+0.95*0.05)))
	for range 5 {
		x = x * (3.4445 - 4.7750*x*x + 2.0315*x*x*x*x)
	}
	x *= 2                       // √n
	second := 0.05 * (x * x / n) // mean over a row of n, one of which is x
	want := 3 - lr*wd*3 - lr*x/math.Sqrt(second)
	for i, got := range s.value(0) {
		target := 0.0
		if i%(n+1) == 0 {
			target = want
		}
		if math.Abs(got-target) > 1e-9 {
			t.Errorf("element %d is %.12g, want %.12g", i, got, target)
		}
	}
}

// TestMuonLeavesZerosAlone: without a gradient a matrix only decays.
func TestMuonLeavesZerosAlone(t *testing.T) {
	w := check.Array{Dims: []int{3, 2}, Values: []float64{1, 2, 3, 4, 5, 6}}
	s := newStepper(t, []check.Array{w}, func(g *Graph) *optim.Muon { return muon(g, 0.1, 0.5, optim.Jordan) })
	s.step(check.Array{Dims: w.Dims, Values: make([]float64, 6)})
	for i, got := range s.value(0) {
		if want := w.Values[i] * 0.95; math.Abs(got-want) > 1e-14 {
			t.Errorf("element %d is %g, want %g", i, got, want)
		}
	}
}

// TestOrthogonaliseRange checks the singular values that both sets of
// coefficients leave, on diagonal matrices.
func TestOrthogonaliseRange(t *testing.T) {
	for _, c := range []struct {
		name   string
		k      optim.Coefficients
		lo, hi float64
	}{{"simple", optim.Simple, 0.66, 1.21}, {"quintic", optim.Quintic, 0.9, 1.15}} {
		d := check.Array{Dims: []int{3, 3}, Values: []float64{1, 0, 0, 0, 0.3, 0, 0, 0, 0.05}}
		exec := MustNewExec(check.Backend(), func(x *Node) *Node { return optim.Orthogonalise(x, c.k, 5, false) })
		out := tensors.MustCopyFlatData[float64](exec.MustCall1(d.Tensor()))
		for i := range 3 {
			if s := out[i*4]; s < c.lo || s > c.hi {
				t.Errorf("%s: singular value %d became %g, outside [%g, %g]", c.name, i, s, c.lo, c.hi)
			}
		}
	}
}

// TestMuonTakesMatricesTogether: a matrix's step is the same whatever others of its
// size, or of its transpose's, there are.
func TestMuonTakesMatricesTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var weights, grads []check.Array
	for _, d := range [][]int{{3, 5}, {4, 4}, {5, 3}, {3, 5}, {5, 4}} {
		weights, grads = append(weights, check.Random(rng, 1, d...)), append(grads, check.Random(rng, 1, d...))
	}
	of := func(g *Graph) *optim.Muon { return muon(g, 0.1, 0.2, optim.Jordan) }
	all := newStepper(t, weights, of)
	all.step(grads...)
	for i, w := range weights {
		alone := newStepper(t, []check.Array{w}, of)
		alone.step(grads[i])
		if e := check.RelErr(all.value(i), alone.value(0)); !(e < 1e-12) {
			t.Errorf("matrix %d %v is off by %.2g", i, w.Dims, e)
		}
	}
}

// TestOrthogonaliseInBFloat16: what a compiler multiplies in bfloat16 stays within
// some roundings, 2⁻⁸ each, of what float64 gives with the same ones.
func TestOrthogonaliseInBFloat16(t *testing.T) {
	x := check.Random(rand.New(rand.NewPCG(3, 4)), 1, 6, 9)
	exec := MustNewExec(check.Backend(), func(x *Node) []*Node {
		narrow := optim.Orthogonalise(ConvertDType(x, dtypes.Float32), optim.Simple, 5, true)
		return []*Node{optim.Orthogonalise(x, optim.Simple, 5, true), ConvertDType(narrow, dtypes.Float64), optim.Orthogonalise(x, optim.Simple, 5, false)}
	})
	out := exec.MustCall(x.Tensor())
	want := tensors.MustCopyFlatData[float64](out[0])
	if e := check.RelErr(tensors.MustCopyFlatData[float64](out[1]), want); !(e < 0.04) {
		t.Errorf("in float32 it is off by %.2g", e)
	}
	if e := check.RelErr(tensors.MustCopyFlatData[float64](out[2]), want); e < 1e-4 {
		t.Errorf("bfloat16 changes it by %.2g only: it was not rounded", e)
	}
}
