package grad

import (
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/kalmarz/kalmarz/layers/check"
)

// TestFullFloat32 multiplies a matrix with its transpose; with inputs rounded to
// TF32, as GPUs do unless told otherwise, the first element is 6.175251.
func TestFullFloat32(t *testing.T) {
	a := tensors.FromFlatDataAndDimensions([]float32{1.1111111, 2.2222222, 3.3333333, 4.4444444}, 1, 2, 2)
	out := MustNewExec(check.Backend(), func(a *Node) *Node { return BMMNT(a, a) }).MustCall1(a)
	if got := float64(tensors.MustCopyFlatData[float32](out)[0]); math.Abs(got-6.1728387) > 1e-6 {
		t.Errorf("product %.7f, want 6.1728387", got)
	}
}

// TestRoundingIsKept: a compiler must not drop a conversion to a narrower type
// and back.
func TestRoundingIsKept(t *testing.T) {
	x := tensors.FromFlatDataAndDimensions([]float32{1 + 1.0/1024, 1 + 1.0/128}, 2)
	out := MustNewExec(check.Backend(), func(x *Node) *Node {
		return ConvertDType(ConvertDType(x, dtypes.BFloat16), dtypes.Float32)
	}).MustCall1(x)
	if got := tensors.MustCopyFlatData[float32](out); got[0] != 1 || got[1] != 1+1.0/128 {
		t.Errorf("through bfloat16: %v, want [1 1.0078125]", got)
	}
}

// TestBFloat16Products: the products of bfloat16 values are summed in float32;
// Project rounds the sum once, ProjectWide never. The sum, 1 + 255·2⁻¹⁰, is lost
// where it is kept in bfloat16, whose steps are 2⁻⁷ there.
func TestBFloat16Products(t *testing.T) {
	const n = 256
	x := make([]float32, n)
	for i := range x {
		x[i] = 1.0 / 1024
	}
	x[0] = 1
	ones := make([]float32, n)
	for i := range ones {
		ones[i] = 1
	}
	want := 1 + 255.0/1024
	out := MustNewExec(check.Backend(), func(x, w *Node) []*Node {
		x = ConvertDType(x, dtypes.BFloat16)
		wide, narrow := ProjectWide(x, w), Project(x, w)
		if wide.DType() != dtypes.Float32 || narrow.DType() != dtypes.BFloat16 {
			t.Errorf("the results are %s and %s", wide.DType(), narrow.DType())
		}
		out := []*Node{wide, ConvertDType(narrow, dtypes.Float32)}
		for _, y := range []*Node{wide, narrow} { // x, in the weights' own type
			out = append(out, Gradient(ReduceAllSum(ConvertDType(y, dtypes.Float32)), w)[0])
		}
		return out
	}).MustCall(tensors.FromFlatDataAndDimensions(x, 1, n), tensors.FromFlatDataAndDimensions(ones, n, 1))
	if got := float64(tensors.MustCopyFlatData[float32](out[0])[0]); math.Abs(got-want) > 1e-6 {
		t.Errorf("ProjectWide gives %.9g, want %.9g", got, want)
	}
	if got := float64(tensors.MustCopyFlatData[float32](out[1])[0]); math.Abs(got-want) > 1.0/256 {
		t.Errorf("Project gives %.9g, want %.9g within 2⁻⁸", got, want)
	}
	for _, slope := range out[2:] {
		if d := tensors.MustCopyFlatData[float32](slope); d[0] != 1 || d[n-1] != 1.0/1024 {
			t.Errorf("gradients %g ... %g, want those of x", d[0], d[n-1])
		}
	}
}
