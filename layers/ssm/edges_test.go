package ssm

import (
	"math"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/scan"
)

// Carrying the state over a cut, or over single tokens, is one pass.
func TestSplitPasses(t *testing.T) {
	onPureGo(t)
	const T = 13
	for name, o := range operators(T) {
		one, _, err := check.Gradients(check.Backend(), dtypes.Float64, func(x []*Node) []*Node { return o.graph(x, scan.Plan{}) }, o.ins, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, cuts := range [][]int{{5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}} {
			split, _, err := check.Gradients(check.Backend(), dtypes.Float64, func(x []*Node) []*Node {
				args := append([]*Node{}, x...)
				var ys, out []*Node
				from := 0
				for _, to := range append(cuts, T) {
					for i := range o.sequences {
						args[i] = SliceAxis(x[i], 1, AxisRange(from, to))
					}
					out = o.graph(args, scan.Plan{})
					copy(args[len(args)-o.states:], out[1:])
					ys, from = append(ys, out[0]), to
				}
				return append([]*Node{Concatenate(ys, 1)}, out[1:]...)
			}, o.ins, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i := range one {
				if e := check.RelErr(split[i].Values, one[i].Values); !(e <= 1e-12) {
					t.Errorf("%s cut at %v: output %d: relative error %.2g", name, cuts, i, e)
				}
			}
		}
	}
}

// A step of 0, or for the mLSTM gates that keep all and write nothing, make a
// token padding: the outputs of the others and the state are those without it.
func TestPaddingIsInert(t *testing.T) {
	onPureGo(t)
	const T, pad = 9, 4
	for name, o := range operators(T) {
		x := o.values()
		want, err := o.reference(x)
		if err != nil {
			t.Fatal(err)
		}
		o.ins = append([]check.Array{}, o.ins...)
		for i, a := range o.ins[:o.sequences] {
			width := len(a.Values) / (a.Dims[0] * T)
			b := check.Array{Dims: append([]int{}, a.Dims...)}
			b.Dims[1]++
			for at := 0; at < len(a.Values); at += T * width {
				row := a.Values[at : at+T*width]
				fill := 0.7
				switch {
				case name != "mlstm" && i == 1:
					fill = 0 // the step
				case name == "mlstm" && i == 3:
					fill = -1e9 // the input gate
				case name == "mlstm" && i == 4:
					fill = 1e9 // the forget gate
				}
				b.Values = append(b.Values, row[:pad*width]...)
				for range width {
					b.Values = append(b.Values, fill)
				}
				b.Values = append(b.Values, row[pad*width:]...)
			}
			o.ins[i] = b
		}
		outs, _, err := check.Gradients(check.Backend(), dtypes.Float64, func(x []*Node) []*Node {
			ys := o.graph(x, scan.Plan{})
			y := ys[0]
			ys[0] = Concatenate([]*Node{SliceAxis(y, 1, AxisRange(0, pad)), SliceAxis(y, 1, AxisRange(pad+1, T+1))}, 1)
			return ys
		}, o.ins, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if e := check.RelErr(outs[i].Values, want[i]); !(e <= 1e-12) {
				t.Errorf("%s: output %d: relative error %.2g", name, i, e)
			}
		}
	}
}

// Input gates far beyond the range of the exponential stay finite: only the
// running maximum is ever exponentiated.
func TestMLSTMLargeGates(t *testing.T) {
	onPureGo(t)
	o := operators(19)["mlstm"]
	for i := range o.ins[3].Values {
		o.ins[3].Values[i] = 200 * math.Sin(float64(i))
	}
	want, err := o.reference(o.values())
	if err != nil {
		t.Fatal(err)
	}
	outs, grads, err := check.Gradients(check.Backend(), dtypes.Float32, func(x []*Node) []*Node { return o.graph(x, scan.Plan{})[:1] },
		o.ins, []check.Array{{Dims: o.ins[2].Dims, Values: o.ins[2].Values}})
	if err != nil {
		t.Fatal(err)
	}
	if e := check.RelErr(outs[0].Values, want[0]); !(e <= 2e-5) {
		t.Errorf("relative error %.2g", e)
	}
	for i, g := range grads {
		for _, v := range g.Values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("gradient %d holds %g", i, v)
			}
		}
	}
}

func TestErrorsNameTheArgument(t *testing.T) {
	o := operators(3)["mamba"]
	_, _, err := check.Gradients(check.Backend(), dtypes.Float32, func(x []*Node) []*Node {
		return o.graph([]*Node{x[0], x[2], x[2], x[3], x[4], x[5]}, scan.Plan{})
	}, o.ins, nil)
	if err == nil || !strings.Contains(err.Error(), "mamba: step is") {
		t.Errorf("error %v, expected one that names the step", err)
	}
	if _, _, err := Reference(&Arrays{B: 1, T: 1, M: 1, S: 1}); err == nil {
		t.Error("empty arrays: expected an error")
	}
}
