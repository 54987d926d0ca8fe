package mixer_test

import (
	"math"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/layers/attention"
	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/kernels"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/param"
)

// plainSoftmax is causal attention written out: rotary queries and keys, one
// key head for several query heads, a window, float64.
func plainSoftmax(x []float64, T, D, heads, kv, dk, window int, theta float64, w map[string][]float64) []float64 {
	project := func(x []float64, w []float64, out int) []float64 {
		in := len(w) / out
		y := make([]float64, len(x)/in*out)
		for i := range len(x) / in {
			for j := range in {
				for k := range out {
					y[i*out+k] += x[i*in+j] * w[j*out+k]
				}
			}
		}
		return y
	}
	rotate := func(x []float64, h int) {
		for t := range T {
			for head := range h {
				row := x[(t*h+head)*dk:][:dk]
				for i := range dk / 2 {
					a := float64(t) * math.Pow(theta, -2*float64(i)/float64(dk))
					u, v := row[i], row[i+dk/2]
					row[i], row[i+dk/2] = u*math.Cos(a)-v*math.Sin(a), v*math.Cos(a)+u*math.Sin(a)
				}
			}
		}
	}
	q, k, v := project(x, w["q_proj/weight"], heads*dk), project(x, w["k_proj/weight"], kv*dk), project(x, w["v_proj/weight"], kv*dk)
	rotate(q, heads)
	rotate(k, kv)
	o := make([]float64, T*heads*dk)
	for h := range heads {
		g := h / (heads / kv)
		for t := range T {
			first, sum := 0, 0.0
			if window > 0 {
				first = max(0, t-window+1)
			}
			for s := first; s <= t; s++ {
				score := 0.0
				for i := range dk {
					score += q[(t*heads+h)*dk+i] * k[(s*kv+g)*dk+i]
				}
				p := math.Exp(score / math.Sqrt(float64(dk)))
				sum += p
				for i := range dk {
					o[(t*heads+h)*dk+i] += p * v[(s*kv+g)*dk+i]
				}
			}
			for i := range dk {
				o[(t*heads+h)*dk+i] /= sum
			}
		}
	}
	return project(o, w["o_proj/weight"], D)
}

func TestSoftmaxEqualsThePlainLoop(t *testing.T) {
	const T, heads, kv, dk = 9, 4, 2, 6
	for _, window := range []string{"0", "1", "4", "20"} {
		l, err := mixer.New("softmax", width, map[string]string{"heads": "4", "kv_heads": "2", "dk": "6", "window": window, "theta": "100"})
		if err != nil {
			t.Fatal(err)
		}
		set := param.NewSet(dtypes.Float64, 9, nil)
		x := input(T)
		exec := model.MustNewExec(check.Backend(), set.Store, func(_ *model.Scope, x *Node) *Node {
			y, _ := mixer.Apply(l, mixer.Context{Scope: set.At(x.Graph())}, x, nil)
			return y
		})
		out, err := exec.Call1(x.Tensor())
		if err != nil {
			t.Fatal(err)
		}
		got := tensors.MustCopyFlatData[float64](out)
		w := map[string][]float64{}
		for _, e := range set.Entries() {
			w[e.Name] = tensors.MustCopyFlatData[float64](e.Variable().MustValue())
		}
		seen := map[string]int{"0": 0, "1": 1, "4": 4, "20": 20}[window]
		for b := range 2 {
			want := plainSoftmax(x.Values[b*T*width:(b+1)*T*width], T, width, heads, kv, dk, seen, 100, w)
			if e := check.RelErr(got[b*T*width:(b+1)*T*width], want); !(e < 1e-13) {
				t.Errorf("window %s, row %d: relative error %.2g", window, b, e)
			}
		}
	}
}

// Asked for, kernels take whole sequences, padded ones too, and leave what reads a
// cache to the graph form. In their place the graph form is called here.
func TestSoftmaxAsksForKernels(t *testing.T) {
	const T = 9
	be, err := compute.NewWithConfig("go")
	if err != nil {
		t.Fatal(err)
	}
	defer be.Finalize()
	l, err := mixer.New("softmax", width, map[string]string{"heads": "4", "kv_heads": "2", "dk": "16", "window": "4"})
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	kernels.Use(be, func(f *kernels.Function, xs []*Node) []*Node {
		calls++
		o := attention.Run(attention.Inputs{Q: xs[0], K: xs[1], V: xs[2], Window: 4}, attention.Form{AllPairs: true})
		logs := f.Out[1].Dims
		return []*Node{o, Zeros(o.Graph(), shapes.Make(o.DType(), logs...))}
	})
	defer kernels.Forget(be)
	set := param.NewSet(dtypes.Float32, 9, nil)
	x := input(T)
	run := func(form delta.Form, apply func(c mixer.Context, x *Node) *Node) ([]float32, int) {
		calls = 0
		exec := model.MustNewExec(be, set.Store, func(_ *model.Scope, x *Node) *Node {
			return apply(mixer.Context{Scope: set.At(x.Graph()), Form: form}, ConvertDType(x, dtypes.Float32))
		})
		defer exec.Finalize()
		out, err := exec.Call1(x.Tensor())
		if err != nil {
			t.Fatal(err)
		}
		return tensors.MustCopyFlatData[float32](out), calls
	}
	for _, c := range []struct {
		name  string
		calls int
		apply func(c mixer.Context, x *Node) *Node
	}{
		{"whole", 1, func(c mixer.Context, x *Node) *Node {
			y, _ := mixer.Apply(l, c, x, nil)
			return y
		}},
		{"padded", 1, func(c mixer.Context, x *Node) *Node {
			mask := ConvertDType(NotEqual(Iota(x.Graph(), shapes.Make(dtypes.Int32, 2, T), 1), Const(x.Graph(), int32(3))), x.DType())
			return mixer.ApplyPadded(l, c, x, mask)
		}},
		{"in two pieces", 1, func(c mixer.Context, x *Node) *Node {
			y, state := mixer.Apply(l, c, SliceAxis(x, 1, AxisRange(0, 5)), nil)
			z, _ := mixer.Apply(l, c, SliceAxis(x, 1, AxisRange(5, T)), state)
			return Concatenate([]*Node{y, z}, 1)
		}},
	} {
		want, none := run(delta.Form{Recurrent: true}, c.apply)
		got, n := run(delta.Form{Kernel: true}, c.apply)
		if none != 0 || n != c.calls {
			t.Errorf("%s: %d calls of kernels, and %d without, expected %d and none", c.name, n, none, c.calls)
		}
		for i, v := range want {
			if math.Abs(float64(got[i]-v)) > 1e-6 {
				t.Fatalf("%s: y[%d] = %g, expected %g", c.name, i, got[i], v)
			}
		}
	}
}
