package golden

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/sbinet/npyio/npy"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/option"
)

// member is one file of an archive.
type member struct {
	name string
	data []byte
}

func zipped(t *testing.T, members []member) (*Archive, error) {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range members {
		w, err := z.Create(m.name)
		if err == nil {
			_, err = w.Write(m.data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return Read("f.npz", bytes.NewReader(b.Bytes()), int64(b.Len()))
}

// array encodes float64 values with a header of the given shape and order.
func array(shape string, fortran bool, values ...float64) []byte {
	order := map[bool]string{false: "False", true: "True"}[fortran]
	head := fmt.Sprintf("{'descr': '<f8', 'fortran_order': %s, 'shape': %s, }\n", order, shape)
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), 0)
	b = append(b, head...)
	for _, v := range values {
		for i := range 8 {
			b = append(b, byte(math.Float64bits(v)>>(8*i)))
		}
	}
	return b
}

// tiny is a right case of one token with key and value width 1.
func tiny() []member {
	var out []member
	for _, a := range []struct {
		name  string
		value float64
	}{ // S = βkv = 6, o = qS = 30; L = o + 2S
		{"in_q", 5}, {"in_k", 3}, {"in_v", 4}, {"in_beta", 0.5},
		{"w_o", 1}, {"w_state", 2}, {"out_o", 30}, {"out_state", 6},
		{"grad_q", 6}, {"grad_k", 14}, {"grad_v", 10.5}, {"grad_beta", 84},
	} {
		shape := "(1, 1, 1, 1)"
		if strings.HasSuffix(a.name, "beta") {
			shape = "(1, 1, 1)"
		}
		out = append(out, member{"deltanet/tiny/" + a.name + ".npy", array(shape, false, a.value)})
	}
	return out
}

func TestMalformedArchives(t *testing.T) {
	garbage := []byte("this is no archive")
	if _, err := Read("f.npz", bytes.NewReader(garbage), int64(len(garbage))); err == nil || !strings.HasPrefix(err.Error(), "f.npz: not an npz archive") {
		t.Errorf("not a zip: %v", err)
	}
	set := func(name string, data []byte) func([]member) []member {
		return func(m []member) []member {
			for i := range m {
				if m[i].name == "deltanet/tiny/"+name+".npy" {
					m[i].data = data
					return m
				}
			}
			return append(m, member{name, data})
		}
	}
	drop := func(name string) func([]member) []member {
		return func(m []member) (out []member) {
			for _, x := range m {
				if x.name != "deltanet/tiny/"+name+".npy" {
					out = append(out, x)
				}
			}
			return out
		}
	}
	one := array("(1, 1, 1, 1)", false, 1)
	for _, c := range []struct {
		change func([]member) []member
		want   string // "" means right
	}{
		{func(m []member) []member { return m }, ""},
		{func(m []member) []member { return nil }, "f.npz: the archive is empty"},
		{set("deltanet/in_q.npy", one), `f.npz: key "deltanet/in_q.npy": expected MIXER/CASE/ARRAY.npy`},
		{set("deltanet/tiny/in_q.txt", one), `key "deltanet/tiny/in_q.txt": expected MIXER/CASE/ARRAY.npy`},
		{func(m []member) []member { return append(m, m[0]) }, `key "deltanet/tiny/in_q" is there twice`},
		{set("in_q", nil), `key "deltanet/tiny/in_q": not an npy array`},
		{set("in_q", []byte("\x93NUMPY\x01\x00\x02\x00{}")), `key "deltanet/tiny/in_q": not an npy array`},
		{set("in_q", one[:len(one)-1]), `key "deltanet/tiny/in_q": shape [1 1 1 1] does not fit 7 bytes of <f8`},
		{set("in_q", array("(99999999999, 99999999999)", false, 1)), `does not fit 8 bytes`},
		{set("in_q", array("(-1, -1)", false, 1)), `does not fit 8 bytes`},
		{set("in_q", bytes.Replace(one, []byte("<f8"), []byte("<i8"), 1)), `key "deltanet/tiny/in_q": type "<i8": expected float32 or float64`},
		{set("in_q", array("()", false, 5)), `key "deltanet/tiny/in_q" has shape [], expected BTHK`},
		{set("in_k", array("(1, 1, 1, 2)", false, 5, 5)), `key "deltanet/tiny/in_k" has shape [1 1 1 2], expected BTHK with B=1, H=1, K=1, T=1`},
		{set("grad_v", array("(1, 2, 1, 1)", false, 5, 5)), `key "deltanet/tiny/grad_v" has shape [1 2 1 1], expected BTHV`},
		{drop("w_o"), `key "deltanet/tiny/w_o" is missing`},
		{drop("out_state"), `key "deltanet/tiny/out_state" is missing`},
		{drop("grad_k"), `key "deltanet/tiny/grad_k" is missing`},
		{drop("in_beta"), `key "deltanet/tiny/in_beta" is missing`},
		{set("deltanet/tiny/in_eta.npy", one), `key "deltanet/tiny/in_eta": not an array of a deltanet case`},
		{set("deltanet/tiny/grad_initial_state.npy", one), `key "deltanet/tiny/in_initial_state" is missing`},
		{func(m []member) []member {
			for i := range m {
				m[i].name = strings.Replace(m[i].name, "deltanet", "kaczmarz", 1)
				m[i].name = strings.Replace(m[i].name, "beta", "eta", 1)
			}
			return append(m, member{"kaczmarz/tiny/in_log_decay.npy", array("(1, 1, 1)", false, 0)}, member{"kaczmarz/tiny/grad_log_decay.npy", array("(1, 1, 1)", false, 0)})
		}, `f.npz: key "kaczmarz/tiny": the case's name must end in _eps and a number >= 0`},
	} {
		a, err := zipped(t, c.change(tiny()))
		var results []Result
		if err == nil {
			results, _, err = Check(check.Backend(), a, mixer.Registry, delta.Form{}, dtypes.Float64)
		}
		switch {
		case c.want == "":
			if err != nil || len(results) != 1 || !(results[0].Output < 1e-12 && results[0].Gradient < 1e-12) {
				t.Errorf("a right archive: %+v, %v", results, err)
			}
		case err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "f.npz: "):
			t.Errorf("error %v, expected %q", err, c.want)
		}
	}
}

// A family that no mixer serves is named, and its arrays may be anything.
func TestUnknownFamiliesAreSkipped(t *testing.T) {
	a, err := zipped(t, append(tiny(),
		member{"other/x/param_skip.npy", array("()", false, 7)},
		member{"other/y/in_x.npy", array("(2, 3)", true, 1, 4, 2, 5, 3, 6)}))
	if err != nil {
		t.Fatal(err)
	}
	results, skipped, err := Check(check.Backend(), a, mixer.Registry, delta.Form{}, dtypes.Float32)
	if err != nil || len(results) != 1 || fmt.Sprint(skipped) != "[other]" {
		t.Errorf("%v, skipped %v, %v", results, skipped, err)
	}
	if x := a.Cases[1].Arrays["param_skip"]; len(x.Dims) != 0 || fmt.Sprint(x.Values) != "[7]" {
		t.Errorf("array without axes: %v", x)
	}
	if x := a.Cases[2].Arrays["in_x"]; fmt.Sprint(x) != "{[2 3] [1 2 3 4 5 6]}" {
		t.Errorf("column-major array: %v", x)
	}
	var b bytes.Buffer
	if err := npy.Write(&b, []float32{0.1}); err != nil {
		t.Fatal(err)
	}
	a, err = zipped(t, []member{{"other/z/in_x.npy", b.Bytes()}})
	if err != nil || a.Cases[0].Arrays["in_x"].Values[0] != float64(float32(0.1)) {
		t.Errorf("float32: %v, %v", a, err)
	}
}

// Every family that a mixer serves is declared here, and a wrong recurrence
// does not pass.
func TestCheckSeesWrongMixers(t *testing.T) {
	for _, k := range mixer.Registry {
		if k.Core != nil && inputs[k.Family] == "" {
			t.Errorf("mixer %s: family %q has no inputs here", k.Name, k.Family)
		}
	}
	a, err := zipped(t, tiny())
	if err != nil {
		t.Fatal(err)
	}
	wrong := &mixer.Kind{Name: "wrong", Family: "deltanet", Core: func(in map[string]*Node, _ option.Values) delta.Inputs {
		return delta.Inputs{Q: in["q"], K: in["k"], Write: MulScalar(Mul(in["v"], InsertAxes(in["beta"], -1)), 1.01)}
	}}
	results, _, err := Check(check.Backend(), a, []*mixer.Kind{wrong}, delta.Form{}, dtypes.Float64)
	if err != nil || len(results) != 1 || math.Abs(results[0].Output-0.01) > 1e-9 || !(results[0].Gradient > 1e-3) {
		t.Errorf("%+v, %v", results, err)
	}
}
