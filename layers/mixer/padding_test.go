package mixer_test

import (
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/param"
)

// TestPadsAreInert puts pads on the left, on the right and in between, full of
// large numbers, and compares outputs and gradients with the row without them.
func TestPadsAreInert(t *testing.T) {
	const n = 6
	row := check.Random(rand.New(rand.NewPCG(8, 8)), 1, n, width)
	weight := check.Random(rand.New(rand.NewPCG(9, 9)), 1, n, width)
	masks := [][]float64{{0, 0, 0, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 0, 0, 0}, {1, 0, 1, 1, 0, 0, 1, 1, 1}}
	T := len(masks[0])
	x := check.Array{Dims: []int{len(masks), T, width}, Values: make([]float64, len(masks)*T*width)}
	w := check.Array{Dims: x.Dims, Values: make([]float64, len(x.Values))}
	mask := check.Array{Dims: []int{len(masks), T}}
	for b, m := range masks {
		mask.Values = append(mask.Values, m...)
		token := 0
		for i := range T {
			at := (b*T + i) * width
			if m[i] == 0 {
				for j := range width {
					x.Values[at+j], w.Values[at+j] = 1e3, 1
				}
				continue
			}
			copy(x.Values[at:], row.Values[token*width:(token+1)*width])
			copy(w.Values[at:], weight.Values[token*width:(token+1)*width])
			token++
		}
	}
	for name, l := range layers(t) {
		t.Run(name, func(t *testing.T) {
			set := param.NewSet(dtypes.Float64, 5, nil)
			run := func(x, w check.Array, apply func(c mixer.Context, x *Node) *Node) (y, grad []float64) {
				exec, err := model.NewExec(check.Backend(), set.Store, func(_ *model.Scope, x, w *Node) (*Node, *Node) {
					y := apply(mixer.Context{Scope: set.At(x.Graph())}, x)
					return y, Gradient(ReduceAllSum(Mul(y, w)), x)[0]
				})
				if err != nil {
					t.Fatal(err)
				}
				out, err := exec.Call(x.Tensor(), w.Tensor())
				if err != nil {
					t.Fatal(err)
				}
				return tensors.MustCopyFlatData[float64](out[0]), tensors.MustCopyFlatData[float64](out[1])
			}
			one := func(a check.Array) check.Array { return check.Array{Dims: []int{1, n, width}, Values: a.Values} }
			wantY, wantGrad := run(one(row), one(weight), func(c mixer.Context, x *Node) *Node {
				y, _ := mixer.Apply(l, c, x, nil)
				return y
			})
			gotY, gotGrad := run(x, w, func(c mixer.Context, x *Node) *Node {
				return mixer.ApplyPadded(l, c, x, Const(x.Graph(), mask.Tensor()))
			})
			for b, m := range masks {
				var y, grad []float64
				for i := range T {
					at := (b*T + i) * width
					if m[i] != 0 {
						y, grad = append(y, gotY[at:at+width]...), append(grad, gotGrad[at:at+width]...)
						continue
					}
					for j := at; j < at+width; j++ {
						if gotY[j] != 0 || gotGrad[j] != 0 {
							t.Fatalf("mask %v: a pad has output %g and gradient %g", m, gotY[j], gotGrad[j])
						}
					}
				}
				if e := max(check.RelErr(y, wantY), check.RelErr(grad, wantGrad)); !(e < 1e-11) {
					t.Errorf("mask %v: outputs or gradients are off by %.2g", m, e)
				}
			}
		})
	}
}
