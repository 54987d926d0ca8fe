package model

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	gomodel "github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/param"
)

// TestDecodingInPieces: for every mixer, in a stack on softmax attention, pieces of several
// lengths give the logits of the full pass.
func TestDecodingInPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	tokens := make([]int32, 12)
	for i := range tokens {
		tokens[i] = rng.Int32N(11)
	}
	for _, k := range mixer.Registry {
		if check.Compiled() && !slices.Contains([]string{"kaczmarz", "kalman", "mamba2"}, k.Name) {
			continue // a compiler takes seconds a mixer; the contract of each has been checked with it elsewhere
		}
		given := map[string]string{}
		for name, value := range map[string]string{"heads": "2", "dk": "4", "dv": "4"} {
			if k.Options.Find(name) != nil {
				given[name] = value
			}
		}
		c := hybrid
		c.Layers = []Layer{{k.Name, given}, hybrid.Layers[1]}
		m, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		set := param.NewSet(dtypes.Float64, 3, nil)
		full := gomodel.MustNewExec(check.Backend(), set.Store, func(_ *gomodel.Scope, x *Node) *Node {
			y, _ := m.Apply(set.At(x.Graph()), delta.Form{}, x, nil)
			return y
		})
		out, err := full.Call1(tensors.FromFlatDataAndDimensions(tokens, 1, len(tokens)))
		if err != nil {
			t.Fatalf("%s: %v", k.Name, err)
		}
		want := tensors.MustCopyFlatData[float64](out)
		d, err := m.NewDecoder(check.Backend(), set, delta.Form{}, len(tokens))
		if err != nil {
			t.Fatalf("%s: %v", k.Name, err)
		}
		at := 0
		for _, n := range []int{5, 1, 1, 5} {
			got, err := d.Read(tokens[at : at+n])
			if err != nil {
				t.Fatalf("%s after %d tokens: %v", k.Name, at, err)
			}
			at += n
			var wide []float64
			for _, x := range got {
				wide = append(wide, float64(x))
			}
			if e := check.RelErr(wide, want[(at-1)*c.Classes:at*c.Classes]); !(e < 1e-6) { // logits are handed out in float32
				t.Errorf("%s after %d tokens: logits are off by %.2g", k.Name, at, e)
			}
		}
		if _, err := d.Read(tokens[:1]); err == nil || !strings.Contains(err.Error(), "1 tokens: must be 1 to 0") {
			t.Errorf("%s: beyond its room: %v", k.Name, err)
		}
		d.Close()
	}
}
