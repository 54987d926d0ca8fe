package golden

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/mixer"
)

func archive(t testing.TB) *Archive {
	t.Helper()
	data, err := os.ReadFile("testdata/delta.npz")
	if err != nil {
		t.Fatal(err)
	}
	a, err := Read("delta.npz", bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestMixersAgreeWithGolden(t *testing.T) {
	a := archive(t)
	forms, floats := []delta.Form{{Chunk: 32}, {Recurrent: true}, {Chunk: 16}, {Chunk: 64}}, []dtypes.DType{dtypes.Float32, dtypes.Float64}
	if check.Backend().Name() != "Go Backend" { // graphs are compiled, seconds each: three stand for all
		forms, floats = forms[:2], floats[:1]
		a.Cases = slices.DeleteFunc(a.Cases, func(c *Case) bool {
			return !slices.Contains([]string{"gdn2", "gla", "kaczmarz"}, c.Family) || !strings.HasPrefix(c.Name, "init_state_T70")
		})
	}
	for _, form := range forms {
		for _, dtype := range floats {
			out, grad := 2e-5, 2e-4
			if dtype == dtypes.Float64 {
				out = 1e-8
				if form.Recurrent {
					out = 1e-9
				}
				grad = out
			}
			results, skipped, err := Check(check.Backend(), a, mixer.Registry, form, dtype)
			if err != nil {
				t.Fatal(err)
			}
			if len(results) != len(a.Cases) || len(skipped) > 0 {
				t.Errorf("%d results for %d cases, skipped %v", len(results), len(a.Cases), skipped)
			}
			worst := Result{}
			for _, r := range results {
				worst.Output, worst.Gradient = max(worst.Output, r.Output), max(worst.Gradient, r.Gradient)
				if !(r.Output <= out && r.Gradient <= grad) {
					t.Errorf("%+v %s: %s/%s: %s is off by %.2g (at most %g), gradient of %s by %.2g (%g)",
						form, dtype, r.Family, r.Case, r.OfOutput, r.Output, out, r.OfGradient, r.Gradient, grad)
				}
			}
			t.Logf("%+v %s: outputs within %.2g, gradients within %.2g", form, dtype, worst.Output, worst.Gradient)
		}
	}
}
