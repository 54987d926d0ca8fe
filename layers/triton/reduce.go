package triton

import (
	"fmt"
	"slices"
)

// Sum adds up an axis, which disappears.
func (t *Tile) Sum(axis int) *Tile { return t.reduce(add, axis) }

// Largest returns the maximum over an axis, which disappears.
func (t *Tile) Largest(axis int) *Tile { return t.reduce(top, axis) }

func (t *Tile) reduce(by binary, axis int) *Tile {
	if t.dtype != F32 || axis < 0 || axis >= len(t.dims) {
		t.k.fail("%s of axis %d of %s", by.verb, axis, t.ir())
	}
	out := t.k.tile(F32, slices.Delete(slices.Clone(t.dims), axis, axis+1)...)
	return t.k.fold(by, out, t, fmt.Sprintf("tt.reduce\"(%s) <{axis = %d : i32}>", t.name(), axis), "tt.reduce.return", func(m *machine) error {
		n, step := t.dims[axis], strides(t.dims)[axis]
		x, y := m.floats(t), m.floats(out)
		for i := range y {
			at := i/step*step*n + i%step
			y[i] = x[at]
			for j := 1; j < n; j++ {
				y[i] = by.f(y[i], x[at+j*step])
			}
		}
		return nil
	})
}

// CumSum returns the running sums along an axis, each with its own element; with
// reverse they run from the end.
func (t *Tile) CumSum(axis int, reverse bool) *Tile {
	if t.dtype != F32 || axis < 0 || axis >= len(t.dims) {
		t.k.fail("running sum of axis %d of %s", axis, t.ir())
	}
	out := t.k.tile(F32, t.dims...)
	return t.k.fold(add, out, t, fmt.Sprintf("tt.scan\"(%s) <{axis = %d : i32, reverse = %t}>", t.name(), axis, reverse), "tt.scan.return", func(m *machine) error {
		n, step := t.dims[axis], strides(t.dims)[axis]
		x, y := m.floats(t), m.floats(out)
		for i := range len(x) / n {
			at, sum := i/step*step*n+i%step, float32(0)
			for j := range n {
				if reverse {
					j = n - 1 - j
				}
				sum += x[at+j*step]
				y[at+j*step] = sum
			}
		}
		return nil
	})
}

// fold adds an operation with a region that makes one number of two.
func (k *Kernel) fold(by binary, out, in *Tile, head, end string, run func(*machine) error) *Tile {
	a, b, both := k.tile(F32), k.tile(F32), k.tile(F32)
	region := &block{ops: []op{
		{text: fmt.Sprintf("%s = %s %s, %s : f32", both.name(), by.ir, a.name(), b.name())},
		{text: fmt.Sprintf("%s %s : f32", end, both.name())},
	}}
	k.at.ops = append(k.at.ops, op{
		text: fmt.Sprintf("%s = \"%s ({\n^bb0(%s: f32, %s: f32):", out.name(), head, a.name(), b.name()),
		body: region,
		end:  fmt.Sprintf("}) : (%s) -> %s", in.ir(), out.ir()),
		run:  run,
	})
	return out
}
