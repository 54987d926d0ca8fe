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
