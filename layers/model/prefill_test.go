package model

import (
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	gomodel "github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/param"
)

// TestPrefill: the last position's logits and the states are those of the full
// pass.
func TestPrefill(t *testing.T) {
	const B, T = 2, 6
	m, err := New(hybrid)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(4, 5))
	tokens := make([]int32, B*T)
	for i := range tokens {
		tokens[i] = rng.Int32N(11)
	}
	set := param.NewSet(dtypes.Float64, 3, nil)
	out := gomodel.MustNewExec(check.Backend(), set.Store, func(_ *gomodel.Scope, x *Node) []*Node {
		all, after := m.Apply(set.At(x.Graph()), delta.Form{}, x, nil)
		last, same := m.Prefill(set.At(x.Graph()), delta.Form{}, x, nil)
		return []*Node{SliceAxis(all, 1, AxisRange(T-1, T)), last, after[0]["state"], same[0]["state"], after[1]["k"], same[1]["k"]}
	}).MustCall(tensors.FromFlatDataAndDimensions(tokens, B, T))
	for i := 0; i < len(out); i += 2 {
		if !out[i].InDelta(out[i+1], 1e-12) || out[i].Size() == 0 {
			t.Errorf("output %d: %v, want %v", i/2, out[i+1], out[i])
		}
	}
}
