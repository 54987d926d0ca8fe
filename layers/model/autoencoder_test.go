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
	"github.com/kalmarz/kalmarz/layers/param"
)

// referenceDecode answers position p of T from z [D] alone, in plain loops.
func referenceDecode(weights map[string][]float64, z []float64, p, V int, eps float64) []float64 {
	D := len(z)
	norm := func(name string, x []float64) []float64 {
		sum := 0.0
		for _, v := range x {
			sum += v * v
		}
		y := make([]float64, len(x))
		for i, v := range x {
			y[i] = v / math.Sqrt(sum/float64(len(x))+eps) * weights[name][i]
		}
		return y
	}
	times := func(x []float64, name string, n int) []float64 {
		y := make([]float64, n)
		for j := range y {
			for i, v := range x {
				y[j] += v * weights[name][i*n+j]
			}
		}
		return y
	}
	u := make([]float64, D)
	for i := range D / 2 {
		w := math.Exp(-float64(i) * math.Log(1e4) / (float64(D)/2 - 1))
		u[i] = z[i] + math.Sin(float64(p)*w)
		u[D/2+i] = z[D/2+i] + math.Cos(float64(p)*w)
	}
	for _, layer := range []string{"decoder/0/", "decoder/1/"} {
		u = times(norm(layer+"norm/weight", u), layer+"w", D)
		for j := range u {
			x := u[j] + weights[layer+"b"][j]
			u[j] = x * 0.5 * math.Erfc(-x/math.Sqrt2)
		}
	}
	return times(norm("norm/weight", u), "head", V)
}

func TestDecoder(t *testing.T) {
	const B, T, D, V = 2, 5, 6, 4
	config := hybrid
	config.Width, config.Classes, config.FromLast, config.Layers = D, V, true, hybrid.Layers[:1]
	m, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	set := param.NewSet(dtypes.Float64, 3, nil)
	exec := gomodel.MustNewExec(check.Backend(), set.Store, func(_ *gomodel.Scope, h *Node) *Node {
		return m.decode(set.At(h.Graph()), nil, h)
	})
	rng := rand.New(rand.NewPCG(5, 6))
	h := make([]float64, B*T*D)
	for i := range h {
		h[i] = rng.NormFloat64()
	}
	run := func() []float64 {
		return tensors.MustCopyFlatData[float64](exec.MustCall1(tensors.FromFlatDataAndDimensions(h, B, T, D)))
	}
	run() // makes the parameters
	weights := map[string][]float64{}
	for _, e := range set.Entries() {
		v := make([]float64, e.Size())
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		if err := e.Variable().SetValue(tensors.FromFlatDataAndDimensions(v, e.Dims...)); err != nil {
			t.Fatal(err)
		}
		weights[e.Name] = v
	}
	got := run()
	for b := range B {
		for p := range T {
			want := referenceDecode(weights, h[(b*T+T-1)*D:(b*T+T)*D], p, V, config.NormEps)
			for c, w := range want {
				if g := got[(b*T+p)*V+c]; math.Abs(g-w) > 1e-12*(1+math.Abs(w)) {
					t.Errorf("row %d position %d class %d: %g, want %g", b, p, c, g, w)
				}
			}
		}
	}
	// What the blocks leave before the last position does not matter.
	h[0], h[(T-2)*D] = 100, -100
	for i, g := range run() {
		if g != got[i] {
			t.Fatalf("logit %d depends on an earlier position: %g, then %g", i, got[i], g)
		}
	}
	config.Width = 7
	if _, err := New(config); err == nil || !strings.Contains(err.Error(), "width = 7: must be even") {
		t.Errorf("an odd width: error %v", err)
	}
}
