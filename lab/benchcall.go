package lab

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// executor is graph's Exec or model's.
type executor interface {
	Call(args ...any) ([]*tensors.Tensor, error)
	Compile(inputs ...shapes.Shape) (*Graph, error)
	Finalize()
}

// calling is a timed executor over arguments that stay on the device. The first
// output is one number, which is read: that ends the call on every backend.
func calling(exec executor, args []*tensors.Tensor) (*timed, error) {
	in := make([]any, len(args))
	for i, a := range args {
		in[i] = a
	}
	x := &timed{together: true}
	given, size := shapesOf(args)
	x.bytes = size
	var err error
	if x.graph, err = exec.Compile(given...); err != nil {
		return nil, err
	}
	x.call = func() error {
		out, err := exec.Call(in...)
		if err != nil {
			return err
		}
		_, err = tensors.CopyFlatData[float32](out[0])
		return finalize(out, err)
	}
	x.close = func() {
		finalize(args, nil)
		exec.Finalize()
	}
	return x, nil
}

// shapesOf returns the shapes of tensors, and their bytes.
func shapesOf(ts []*tensors.Tensor) (out []shapes.Shape, bytes float64) {
	for _, t := range ts {
		out = append(out, t.Shape())
		bytes += float64(t.Shape().ByteSize())
	}
	return out, bytes
}

func finalize(ts []*tensors.Tensor, err error) error {
	for _, t := range ts {
		if e := t.FinalizeAll(); err == nil {
			err = e
		}
	}
	return err
}

// glance returns one number of x.
func glance(x *Node) *Node {
	return ConvertDType(SliceAxis(Reshape(x, -1), 0, AxisElem(0)), dtypes.Float32)
}

// onDevice evaluates a graph without inputs, and leaves what it gives there.
func onDevice(be compute.Backend, fn func(g *Graph) []*Node) ([]*tensors.Tensor, error) {
	exec, err := NewExec(be, fn)
	if err != nil {
		return nil, err
	}
	defer exec.Finalize()
	g, err := exec.Compile()
	if err != nil {
		return nil, err
	}
	if err := fits(g); err != nil {
		return nil, err
	}
	return exec.Call()
}

// wave is an array of values in (-1, 1) without a period.
func wave(g *Graph, speed float64, dims ...int) *Node {
	n := shapes.Make(dtypes.Float32, dims...).Size()
	i := Reshape(Iota(g, shapes.Make(dtypes.Float32, n), 0), dims...)
	return Sin(MulScalar(i, speed))
}
