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

// archive joins archives of one name.
func archive(t testing.TB, paths ...string) *Archive {
	t.Helper()
	all := &Archive{Name: paths[0]}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		a, err := Read(path, bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		all.Cases = append(all.Cases, a.Cases...)
	}
	return all
}

func TestMixersAgreeWithGolden(t *testing.T) {
	a := archive(t, "testdata/delta.npz", "testdata/kalman_layer.npz", "../../kalman/testdata/golden.npz")
	forms, floats := []delta.Form{{Chunk: 32}, {Recurrent: true}, {Chunk: 16}, {Chunk: 64}}, []dtypes.DType{dtypes.Float32, dtypes.Float64}
	if check.Compiled() { // graphs are compiled, seconds each: a few stand for all
		forms, floats = forms[:2], floats[:1]
		a.Cases = slices.DeleteFunc(a.Cases, func(c *Case) bool {
			return !slices.Contains([]string{"gdn2/init_state_T70", "gla/init_state_T70", "kalman_layer/mamba"}, c.Family+"/"+c.Name) &&
				!strings.HasPrefix(c.Family+"/"+c.Name, "kaczmarz/init_state_T70")
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
