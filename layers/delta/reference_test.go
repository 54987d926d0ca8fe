package delta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/kalmarz/kalmarz/layers/check"
)

// The hand-written gradient against central differences of the forward pass,
// for every value of every input.
func TestReferenceGradientIsTheDerivative(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, decays := range []int{0, 1, 3} {
		for _, kind := range []string{"additive", "erasing", "by rates"} {
			a := problem(rng, 2, 4, 2, 3, 2, decays, 0.7, kind != "additive", true)
			if kind == "by rates" {
				a.ByRate(rng)
			}
			_, grad, w := referenceOf(t, a)
			loss := func() float64 {
				r, err := Reference(a)
				if err != nil {
					t.Fatal(err)
				}
				sum := 0.0
				for i, x := range [][]float64{r.O, r.State, r.U} {
					for j := range x {
						sum += x[j] * w[i].Values[j]
					}
				}
				return sum
			}
			for i, x := range a.inputs() {
				numeric := make([]float64, len(x))
				for j := range x {
					const h = 1e-5
					at := x[j]
					x[j] = at + h
					up := loss()
					x[j] = at - h
					numeric[j] = (up - loss()) / (2 * h)
					x[j] = at
				}
				if e := check.RelErr(grad.inputs()[i], numeric); !(e < 1e-8) {
					t.Errorf("decays=%d, %s: gradient %d is off by %.2g", decays, kind, i, e)
				}
			}
		}
	}
}

func TestCheckNamesThePlace(t *testing.T) {
	const B, T, H, K, V = 2, 5, 3, 4, 2
	for _, c := range []struct {
		change func(a *Arrays)
		want   string // "" means right
	}{
		{func(a *Arrays) {}, ""},
		{func(a *Arrays) { a.LogDecay[0] = math.Inf(-1) }, ""},
		{func(a *Arrays) { a.LogDecay, a.Erase, a.State = nil, nil, nil }, ""},
		{func(a *Arrays) { a.LogDecay[((1*T+2)*H+1)*K+3] = 0.25 }, "delta: log-decay = 0.25 at batch row 1, token 2, head 1: must be at most 0"},
		{func(a *Arrays) {
			a.LogDecay = make([]float64, B*T*H)
			a.LogDecay[(1*T+4)*H+2] = 1e-9
		}, "delta: log-decay = 1e-09 at batch row 1, token 4, head 2: must be at most 0"},
		{func(a *Arrays) { a.LogDecay[1] = math.NaN() }, "delta: log-decay = NaN at index 1: must be finite"},
		{func(a *Arrays) { a.Q[7] = math.Inf(1) }, "delta: q = +Inf at index 7: must be finite"},
		{func(a *Arrays) { a.State[2] = math.NaN() }, "delta: state = NaN at index 2: must be finite"},
		{func(a *Arrays) { a.Key = a.Key[1:] }, "delta: k has 119 values, expected 120 (B=2, T=5, H=3, K=4, V=2)"},
		{func(a *Arrays) { a.Rate = a.Q[:7] }, "delta: rate has 7 values, expected 30 (B=2, T=5, H=3, K=4, V=2)"},
		{func(a *Arrays) { a.Write = nil }, "delta: write has 0 values, expected 60 (B=2, T=5, H=3, K=4, V=2)"},
		{func(a *Arrays) { a.T = 0 }, "delta: B=2, T=0, H=3, K=4, V=2: each must be at least 1"},
	} {
		a := problem(rand.New(rand.NewPCG(5, 6)), B, T, H, K, V, K, 1, true, true)
		c.change(a)
		_, err := Reference(a)
		_, gradErr := ReferenceGradient(a, &Result{})
		if fmt.Sprint(err) != fmt.Sprint(gradErr) || (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("errors %v and %v, expected %q", err, gradErr, c.want)
		}
	}
}

func TestWrongShapesNameTheInput(t *testing.T) {
	const B, T, H, K, V = 2, 5, 3, 4, 2
	for _, c := range []struct {
		change func(in *Inputs, node func(dims ...int) *Node)
		want   string // "" means right
	}{
		{func(in *Inputs, node func(dims ...int) *Node) {}, ""},
		{func(in *Inputs, node func(dims ...int) *Node) { in.LogDecay = node(B, T, H, K) }, ""},
		{func(in *Inputs, node func(dims ...int) *Node) { in.Erase, in.LogDecay, in.State = nil, nil, nil }, ""},
		{func(in *Inputs, node func(dims ...int) *Node) { in.Q = nil }, "q, k and write must be given"},
		{func(in *Inputs, node func(dims ...int) *Node) { in.Q = node(B, T, K) }, "q (Float64)[2, 5, 4], write"},
		{func(in *Inputs, node func(dims ...int) *Node) { in.Write = node(B, T, H) }, "must be [B,T,H,K] and [B,T,H,V]"},
		{func(in *Inputs, node func(dims ...int) *Node) { in.K = node(B, T, H, K+1) }, "delta: k is (Float64)[2, 5, 3, 5], expected dimensions [[2 5 3 4]]"},
		{func(in *Inputs, node func(dims ...int) *Node) { in.Erase = node(B, T, H, V) }, "delta: erase is (Float64)[2, 5, 3, 2]"},
		{func(in *Inputs, node func(dims ...int) *Node) { in.Write = node(B, T+1, H, V) }, "delta: write is (Float64)[2, 6, 3, 2]"},
		{func(in *Inputs, node func(dims ...int) *Node) { in.Rate = node(B, T, 1) }, "delta: rate is (Float64)[2, 5, 1], expected dimensions [[2 5 3]]"},
		{func(in *Inputs, node func(dims ...int) *Node) { in.LogDecay = node(B, T, H, 1) }, "delta: log-decay is (Float64)[2, 5, 3, 1], expected dimensions [[2 5 3] [2 5 3 4]]"},
		{func(in *Inputs, node func(dims ...int) *Node) { in.State = node(B, H, V, K) }, "delta: state is (Float64)[2, 3, 2, 4], expected dimensions [[2 3 4 2]]"},
		{func(in *Inputs, node func(dims ...int) *Node) { in.K = ConvertDType(in.K, dtypes.Float32) }, "delta: k is Float32, expected the dtype of q, Float64"},
	} {
		for name, form := range map[string]func(Inputs) Outputs{"recurrent": Recurrent, "chunked": chunkedBy(4)} {
			g := NewGraph(check.Backend(), "")
			node := func(dims ...int) *Node { return Zeros(g, shapes.Make(dtypes.Float64, dims...)) }
			in := Inputs{Q: node(B, T, H, K), K: node(B, T, H, K), Erase: node(B, T, H, K), Write: node(B, T, H, V), LogDecay: node(B, T, H), State: node(B, H, K, V)}
			err := exceptions.TryCatch[error](func() {
				c.change(&in, node)
				form(in)
			})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, expected %q", name, err, c.want)
			}
			g.Finalize()
		}
	}
	for _, C := range []int{-1, 3, 48} {
		g := NewGraph(check.Backend(), "")
		x := Ones(g, shapes.Make(dtypes.Float64, 1, 2, 1, 1))
		err := exceptions.TryCatch[error](func() { Run(Inputs{Q: x, K: x, Write: x}, Form{Chunk: C}) })
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("chunk = %d: must be a power of two", C)) {
			t.Errorf("chunk length %d: %v", C, err)
		}
		g.Finalize()
	}
}
