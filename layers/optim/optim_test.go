package optim

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/param"
)

// TestAdamWEqualsThePlainLoop takes three clipped steps on a quadratic and
// compares with the update written out in Go, twice, with the state cleared in
// between.
func TestAdamWEqualsThePlainLoop(t *testing.T) {
	const lr, b1, b2, eps, wd, clip = 0.03, 0.9, 0.95, 1e-8, 0.1, 0.5
	set := param.NewSet(dtypes.Float64, 1, nil)
	var adam *AdamW
	exec, err := model.NewExec(check.Backend(), set.Store, func(scope *model.Scope, target *Node) []*Node {
		g := target.Graph()
		s := set.At(g)
		w, v := s.Get("w", param.Matrix, param.Normal(1), 2, 3), s.Get("v", param.Vector, param.Constant(2), 3)
		loss := ReduceAllSum(Square(Sub(Mul(w, InsertAxes(v, 0)), target)))
		grads := scope.BuildTrainableVariablesGradientsGraph(loss)
		norm := Norm(grads)
		adam = &AdamW{LearningRate: Const(g, lr), Beta1: b1, Beta2: b2, Epsilon: eps, WeightDecay: wd,
			Decays: func(v *model.Variable) bool { return v.Name() == "w" }}
		adam.UpdateGraphWithGradients(scope, ClipNorm(grads, norm, clip), dtypes.Float64)
		return []*Node{norm}
	})
	if err != nil {
		t.Fatal(err)
	}
	target := check.Random(rand.New(rand.NewPCG(1, 1)), 1, 2, 3)
	if _, err := exec.Call(target.Tensor()); err != nil { // makes the parameters
		t.Fatal(err)
	}
	for round := range 2 {
		if err := set.Reset(uint64(5 + round)); err != nil {
			t.Fatal(err)
		}
		if err := adam.Clear(set.Store.RootScope()); err != nil {
			t.Fatal(err)
		}
		value := func(i int) []float64 {
			return tensors.MustCopyFlatData[float64](set.Entries()[i].Variable().MustValue())
		}
		x := append(value(0), value(1)...)
		m, s := make([]float64, 9), make([]float64, 9)
		for n := 1; n <= 3; n++ {
			grad, norm := make([]float64, 9), 0.0
			for i := range 6 {
				r := 2 * (x[i]*x[6+i%3] - target.Values[i])
				grad[i] += r * x[6+i%3]
				grad[6+i%3] += r * x[i]
			}
			for _, g := range grad {
				norm += g * g
			}
			norm = math.Sqrt(norm)
			for i := range x {
				g := grad[i] * min(1, clip/(norm+1e-6))
				m[i] = b1*m[i] + (1-b1)*g
				s[i] = b2*s[i] + (1-b2)*g*g
				step := m[i] / (1 - math.Pow(b1, float64(n))) / (math.Sqrt(s[i]/(1-math.Pow(b2, float64(n)))) + eps)
				if i < 6 {
					step += wd * x[i]
				}
				x[i] -= lr * step
			}
			out, err := exec.Call1(target.Tensor())
			if err != nil {
				t.Fatal(err)
			}
			if got := tensors.ToScalar[float64](out); math.Abs(got-norm) > 1e-12*norm {
				t.Errorf("step %d: gradient norm %g, want %g", n, got, norm)
			}
		}
		if e := check.RelErr(append(value(0), value(1)...), x); !(e < 1e-12) {
			t.Errorf("round %d: weights are off by %.2g", round, e)
		}
	}
}
