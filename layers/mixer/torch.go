package mixer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/param"
)

// FromTorch sets the parameters of the layer at a path from arrays with the names
// and layouts of a PyTorch module: "in_proj.weight" for in_proj/weight, see
// TorchLayout. The parameters are there once the layer is part of a graph. It
// returns an error that names what is missing, unknown or of another shape.
func FromTorch(set *param.Set, at string, arrays map[string]check.Array) error {
	left := maps.Clone(arrays)
	for _, e := range set.Entries() {
		name, here := strings.CutPrefix(e.Name, at)
		if !here {
			continue
		}
		name = strings.ReplaceAll(strings.Trim(name, "/"), "/", ".")
		a, ok := left[name]
		if !ok {
			return fmt.Errorf("parameter %s is missing", name)
		}
		delete(left, name)
		a, err := TorchLayout(name, e.Dims, a)
		if err != nil {
			return err
		}
		if err := e.Variable().SetValue(tensorOf(set.DType, a)); err != nil {
			return fmt.Errorf("parameter %s: %w", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		return fmt.Errorf("parameter %s: the layer has none of that name", name)
	}
	return nil
}

// TorchLayout returns a PyTorch parameter in the layout of dims: a linear layer
// keeps its weight as [out,in], here [in,out]; a depthwise convolution as
// [channels,1,width], here [width,channels].
func TorchLayout(name string, dims []int, a check.Array) (check.Array, error) {
	want := dims
	turned := strings.HasSuffix(name, ".weight") && len(dims) == 2
	if turned {
		want = []int{dims[1], dims[0]}
		if len(a.Dims) == 3 {
			want = []int{dims[1], 1, dims[0]}
		}
	}
	if !slices.Equal(a.Dims, want) {
		return a, fmt.Errorf("parameter %s has shape %v, expected %v", name, a.Dims, want)
	}
	if !turned {
		return a, nil
	}
	out := check.Array{Dims: dims, Values: make([]float64, len(a.Values))}
	for i, v := range a.Values {
		out.Values[i%dims[0]*dims[1]+i/dims[0]] = v
	}
	return out, nil
}

func tensorOf(dtype dtypes.DType, a check.Array) *tensors.Tensor {
	if dtype == dtypes.Float64 {
		return tensors.FromFlatDataAndDimensions(slices.Clone(a.Values), a.Dims...)
	}
	narrow := make([]float32, len(a.Values))
	for i, v := range a.Values {
		narrow[i] = float32(v)
	}
	return tensors.FromFlatDataAndDimensions(narrow, a.Dims...)
}
