package model

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	gomodel "github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/param"
)

var kalmanModel = Config{
	Vocab: 5, Classes: 3, Width: 4, MLP: 6, NormEps: 1e-5,
	Layers: []Layer{{"gdn", map[string]string{"heads": "2", "dk": "2", "dv": "2"}}, {"kalman", map[string]string{"d_state": "3"}}},
}

var someTokens = []int32{0, 3, 1, 4, 2, 2}

// marginal evaluates the readout on two rows of three tokens and whatever else
// the graph function returns.
func marginal(t *testing.T, c Config, noise []float64, more func(m *Model, s param.Scope, tokens, logp *Node) []*Node) ([][]float64, error) {
	t.Helper()
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	set := param.NewSet(dtypes.Float64, 7, nil)
	exec, err := gomodel.NewExec(check.Backend(), set.Store, func(_ *gomodel.Scope, in []*Node) []*Node {
		s := set.At(in[0].Graph())
		p, _ := m.Marginal(s, delta.Form{}, in[0], nil, in[1])
		return append([]*Node{p}, more(m, s, in[0], p)...)
	})
	if err != nil {
		t.Fatal(err)
	}
	N := len(noise) / (6 * c.Width)
	ts, err := exec.Call(tensors.FromFlatDataAndDimensions(someTokens, 2, 3), tensors.FromFlatDataAndDimensions(noise, N, 2, 3, c.Width))
	var out [][]float64
	for _, x := range ts {
		out = append(out, tensors.MustCopyFlatData[float64](x))
	}
	return out, err
}

// With one channel the final norm leaves the sign of the residual stream, so the
// average is known: P(h > 0) softmax(w) + P(h < 0) softmax(-w), P(h > 0) = Φ(μ/σ).
func TestMarginalClosedForm(t *testing.T) {
	const N = 2001
	c := Config{Vocab: 5, Classes: 3, Width: 1, Layers: []Layer{{"kalman", map[string]string{"d_state": "3"}}}}
	var noise []float64 // the normal distribution's quantiles, the same for every token
	for n := range N {
		for range 6 {
			noise = append(noise, math.Sqrt2*math.Erfinv(2*(float64(n)+0.5)/N-1))
		}
	}
	out, err := marginal(t, c, noise, func(m *Model, s param.Scope, tokens, _ *Node) []*Node {
		var variance *Node
		h, _ := m.trunk(s, delta.Form{}, tokens, nil, m.pass(func(int) func(string, *Node) {
			return func(name string, v *Node) {
				if name == "variance" {
					variance = v
				}
			}
		}))
		return []*Node{h, variance, s.Get("head", param.Embedding, nil, 1, 3)}
	})
	if err != nil {
		t.Fatal(err)
	}
	logp, mean, variance, w := out[0], out[1], out[2], out[3]
	unsure := 0
	for i := range 6 {
		up := 0.5 * (1 + math.Erf(mean[i]/math.Sqrt(2*variance[i])))
		if up > 0.01 && up < 0.99 {
			unsure++
		}
		var a, b, za, zb float64
		for _, v := range w {
			za, zb = za+math.Exp(v), zb+math.Exp(-v)
		}
		for j, v := range w {
			a, b = math.Exp(v)/za, math.Exp(-v)/zb
			if got, want := math.Exp(logp[i*3+j]), up*a+(1-up)*b; math.Abs(got-want) > 1.0/N {
				t.Errorf("token %d, class %d: probability %.5f, expected %.5f (mean %g, variance %g)", i, j, got, want, mean[i], variance[i])
			}
		}
	}
	if unsure == 0 {
		t.Error("no token is unsure: the variance plays no part")
	}
}

// Without noise the readout is the softmax of Apply; with it, still a
// distribution, and its gradient reaches what only the variance depends on.
func TestMarginalOfNoNoise(t *testing.T) {
	logits := func(m *Model, s param.Scope, tokens, logp *Node) []*Node {
		y, _ := m.Apply(s, delta.Form{}, tokens, nil)
		return []*Node{LogSoftmax(y), Gradient(ReduceAllSum(Square(logp)), s.In("layers/1/mixer").Get("process_noise", param.Vector, nil, 8, 3))[0]}
	}
	out, err := marginal(t, kalmanModel, make([]float64, 2*6*4), logits)
	if err != nil {
		t.Fatal(err)
	}
	if e := check.RelErr(out[0], out[1]); !(e < 1e-12) {
		t.Errorf("without noise: off by %.2g", e)
	}
	noise := check.Random(rand.New(rand.NewPCG(1, 2)), 1, 3*6*4).Values
	sampled, err := marginal(t, kalmanModel, noise, logits)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(sampled[0]); i += 3 {
		sum := 0.0
		for _, v := range sampled[0][i : i+3] {
			sum += math.Exp(v)
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Errorf("token %d: probabilities sum to %g", i/3, sum)
		}
	}
	if check.RelErr(sampled[0], out[0]) < 1e-6 || check.RelErr(sampled[2], out[2]) < 1e-6 {
		t.Error("noise changes neither probabilities nor gradients")
	}
}

func TestMarginalErrors(t *testing.T) {
	none := func(*Model, param.Scope, *Node, *Node) []*Node { return nil }
	c := kalmanModel
	c.Layers = c.Layers[:1]
	if _, err := marginal(t, c, make([]float64, 24), none); err == nil || !strings.Contains(err.Error(), "mixer gdn of the last block has no variance") {
		t.Errorf("no variance: %v", err)
	}
	m, err := New(kalmanModel)
	if err != nil {
		t.Fatal(err)
	}
	set := param.NewSet(dtypes.Float64, 7, nil)
	exec := gomodel.MustNewExec(check.Backend(), set.Store, func(_ *gomodel.Scope, tokens, noise *Node) *Node {
		p, _ := m.Marginal(set.At(tokens.Graph()), delta.Form{}, tokens, nil, noise)
		return p
	})
	if _, err := exec.Call(tensors.FromFlatDataAndDimensions(someTokens, 2, 3), tensors.FromFlatDataAndDimensions(make([]float64, 24), 1, 3, 2, 4)); err == nil || !strings.Contains(err.Error(), "expected dimensions [N 2 3 4]") {
		t.Errorf("noise of another shape: %v", err)
	}
}
