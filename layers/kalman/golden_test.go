package kalman

import (
	"slices"
	"strings"
	"testing"

	"github.com/sbinet/npyio/npz"

	"github.com/kalmarz/kalmarz/layers/check"
)

// golden is one case of the reference values: a problem, the weights of its
// loss, and the results and gradients of the official implementation's
// sequential scan in float64.
type golden struct {
	name     string
	in       *Arrays
	prior    bool
	w, out   *Result
	gradient *Arrays
}

func goldens(t testing.TB) []golden {
	t.Helper()
	z, err := npz.Open("testdata/golden.npz")
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	dims := func(key string) []int { return z.Header(key + ".npy").Descr.Shape }
	read := func(key string) []float64 {
		key += ".npy"
		h := z.Header(key)
		if h == nil {
			return nil
		}
		if h.Descr.Type == "<f8" {
			var x []float64
			if err := z.Read(key, &x); err != nil {
				t.Fatalf("%s: %v", key, err)
			}
			return x
		}
		var x []float32
		if err := z.Read(key, &x); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		out := make([]float64, len(x))
		for i, v := range x {
			out[i] = float64(v)
		}
		return out
	}
	var out []golden
	for _, key := range z.Keys() {
		name, ok := strings.CutSuffix(key, "/in_v.npy")
		if !ok {
			continue
		}
		d, s := dims(name+"/in_v"), dims(name + "/in_k")[2]
		problem := func(p string) *Arrays {
			return &Arrays{B: d[0], T: d[1], M: d[2], S: s,
				V: read(name + p + "v"), Precision: read(name + p + "precision"), K: read(name + p + "k"), Q: read(name + p + "q"),
				A: read(name + p + "a"), P: read(name + p + "p"), Lambda: read(name + p + "lam0"), Eta: read(name + p + "eta0")}
		}
		result := func(p string) *Result {
			return &Result{read(name + p + "y"), read(name + p + "y_var"), read(name + p + "lam"), read(name + p + "eta")}
		}
		out = append(out, golden{name, problem("/in_"), strings.Contains(name, "prior"), result("/w_"), result("/out_"), problem("/grad_")})
	}
	if len(out) != 9 {
		t.Fatalf("testdata/golden.npz has %d cases, expected 9", len(out))
	}
	slices.SortFunc(out, func(a, b golden) int { return strings.Compare(a.name, b.name) })
	return out
}

func TestReferenceAgreesWithGolden(t *testing.T) {
	for _, c := range goldens(t) {
		out, err := Reference(c.in, c.prior)
		if err != nil {
			t.Fatal(err)
		}
		g, err := ReferenceGradient(c.in, c.prior, c.w)
		if err != nil {
			t.Fatal(err)
		}
		report(t, c.name+" reference", out.list(), c.out.list(), 1e-9)
		report(t, c.name+" reference gradient", g.list(), c.gradient.list(), 1e-9)
	}
}

// report fails where an array differs from the wanted one; arrays that are nil
// on the wanted side are left out. It returns the largest relative error.
func report(t testing.TB, what string, got, want [][]float64, tol float64) (worst float64) {
	t.Helper()
	for i := range want {
		if want[i] == nil {
			continue
		}
		e := check.RelErr(got[i], want[i])
		worst = max(worst, e)
		if !(e <= tol) {
			t.Errorf("%s, array %d: relative error %.2g > %.2g", what, i, e, tol)
		}
	}
	return worst
}
