package triton

import (
	"fmt"
	"slices"
	"strings"
)

// Broadcast repeats a scalar, or axes of length 1, to a shape.
func (t *Tile) Broadcast(dims ...int) *Tile {
	if slices.Equal(t.dims, dims) {
		return t
	}
	if len(t.dims) > 0 && len(t.dims) != len(dims) {
		t.k.fail("broadcast of %s to %v", t.ir(), dims)
	}
	for i, d := range t.dims {
		if d != dims[i] && d != 1 {
			t.k.fail("broadcast of %s to %v", t.ir(), dims)
		}
	}
	out, table := t.k.tile(t.dtype, dims...), spread(t.dims, dims)
	if len(t.dims) == 0 {
		return t.k.emit(out, func(m *machine) error {
			m.pick(out, table, t)
			return nil
		}, "tt.splat %s : %s -> %s", t.name(), t.ir(), out.ir())
	}
	return t.k.emit(out, func(m *machine) error {
		m.pick(out, table, t)
		return nil
	}, "tt.broadcast %s : %s -> %s", t.name(), t.ir(), out.ir())
}

// Expand inserts an axis of length 1.
func (t *Tile) Expand(axis int) *Tile {
	out := t.k.tile(t.dtype, slices.Insert(slices.Clone(t.dims), axis, 1)...)
	return t.k.emit(out, func(m *machine) error {
		m.pick(out, nil, t)
		return nil
	}, "tt.expand_dims %s {axis = %d : i32} : %s -> %s", t.name(), axis, t.ir(), out.ir())
}

// Col makes a column [n,1] of a tile [n].
func (t *Tile) Col() *Tile { return t.Expand(1) }

// Row makes a row [1,n] of a tile [n].
func (t *Tile) Row() *Tile { return t.Expand(0) }

// T transposes a matrix.
func (t *Tile) T() *Tile { return t.Permute(1, 0) }

// Permute reorders axes: axis i of the result is axis order[i] of t.
func (t *Tile) Permute(order ...int) *Tile {
	if sorted := slices.Sorted(slices.Values(order)); len(order) != len(t.dims) || sorted[0] != 0 || sorted[len(order)-1] != len(order)-1 || len(slices.Compact(sorted)) != len(order) {
		t.k.fail("permutation %v of %s", order, t.ir())
	}
	s := strides(t.dims)
	dims, from, text := make([]int, len(order)), make([]int, len(order)), make([]string, len(order))
	for i, o := range order {
		dims[i], from[i], text[i] = t.dims[o], s[o], fmt.Sprint(o)
	}
	out, table := t.k.tile(t.dtype, dims...), walk(dims, from)
	return t.k.emit(out, func(m *machine) error {
		m.pick(out, table, t)
		return nil
	}, "tt.trans %s {order = array<i32: %s>} : %s -> %s", t.name(), strings.Join(text, ", "), t.ir(), out.ir())
}

// Reshape gives the elements, in order, another shape.
func (t *Tile) Reshape(dims ...int) *Tile {
	out := t.k.tile(t.dtype, dims...)
	if out.size() != t.size() {
		t.k.fail("reshape of %s to %v", t.ir(), dims)
	}
	return t.k.emit(out, func(m *machine) error {
		m.pick(out, nil, t)
		return nil
	}, "tt.reshape %s : %s -> %s", t.name(), t.ir(), out.ir())
}

func strides(dims []int) []int {
	s := make([]int, len(dims))
	n := 1
	for i := len(dims) - 1; i >= 0; i-- {
		s[i] = n
		n *= dims[i]
	}
	return s
}

// walk lists, for each element of a tile of dims, where other strides lead.
func walk(dims, from []int) []int {
	table := []int{0}
	for axis, d := range dims {
		next := make([]int, 0, len(table)*d)
		for _, at := range table {
			for i := range d {
				next = append(next, at+i*from[axis])
			}
		}
		table = next
	}
	return table
}

// spread lists, for each element of a tile of dims, the element of a tile of own
// that is broadcast to it; nil if the shapes are the same.
func spread(own, dims []int) []int {
	if slices.Equal(own, dims) {
		return nil
	}
	from := make([]int, len(dims))
	if len(own) > 0 {
		from = strides(own)
		for i, d := range own {
			if d == 1 {
				from[i] = 0
			}
		}
	}
	return walk(dims, from)
}
