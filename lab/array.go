package lab

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
	gomodel "github.com/gomlx/gomlx/ml/model"
)

// array is float32 or float64 values of a shape under a name.
type array struct {
	name   string
	dims   []int
	double bool // stored as float64, otherwise as float32
	values []float64
}

// arrayOf copies a tensor.
func arrayOf(name string, t *tensors.Tensor) array {
	a := array{name: name, dims: t.Shape().Dimensions, double: t.DType() == dtypes.Float64}
	if a.double {
		a.values = tensors.MustCopyFlatData[float64](t)
	} else {
		a.values = convert[float64](tensors.MustCopyFlatData[float32](t))
	}
	return a
}

// tensor is the array in the type in which it is stored.
func (a array) tensor() *tensors.Tensor {
	if a.double {
		return tensors.FromFlatDataAndDimensions(a.values, a.dims...)
	}
	return tensors.FromFlatDataAndDimensions(convert[float32](a.values), a.dims...)
}

// shape is the array's type and dimensions.
func (a array) shape() shapes.Shape {
	if a.double {
		return shapes.Make(dtypes.Float64, a.dims...)
	}
	return shapes.Make(dtypes.Float32, a.dims...)
}

// fits tells whether the array can be a variable's value.
func (a array) fits(v *gomodel.Variable) bool {
	return a.shape().Equal(v.Shape()) && len(a.values) == v.Shape().Size()
}

func convert[To, From float32 | float64](x []From) []To {
	out := make([]To, len(x))
	for i, v := range x {
		out[i] = To(v)
	}
	return out
}
