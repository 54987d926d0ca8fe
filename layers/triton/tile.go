package triton

import (
	"fmt"
	"slices"
	"strings"
)

// DType is the type of a tile's elements.
type DType uint8

const (
	F32  DType = iota
	BF16       // in memory and as operand of products; arithmetic is in F32
	I32        // indices
	I1         // masks
)

func (d DType) String() string { return [...]string{"f32", "bf16", "i32", "i1"}[d] }

func (d DType) float() bool { return d <= BF16 }

// Tile is an array of a fixed shape that the threads of a program hold together.
type Tile struct {
	k     *Kernel
	dtype DType
	dims  []int
	slot  int
}

func (k *Kernel) tile(dtype DType, dims ...int) *Tile {
	for _, d := range dims {
		if d < 1 || d&(d-1) != 0 {
			k.fail("a tile of %v: dimensions must be powers of two", dims)
		}
	}
	k.slots++
	return &Tile{k: k, dtype: dtype, dims: dims, slot: k.slots - 1}
}

// DType returns the type of the elements.
func (t *Tile) DType() DType { return t.dtype }

// Dims returns the shape.
func (t *Tile) Dims() []int { return slices.Clone(t.dims) }

func (t *Tile) name() string { return fmt.Sprintf("%%t%d", t.slot) }

// ir is the tile's type as it is printed.
func (t *Tile) ir() string { return irType(t.dtype.String(), t.dims) }

func irType(element string, dims []int) string {
	if len(dims) == 0 {
		return element
	}
	var b strings.Builder
	for _, d := range dims {
		fmt.Fprintf(&b, "%dx", d)
	}
	return "tensor<" + b.String() + element + ">"
}

func (t *Tile) size() int {
	n := 1
	for _, d := range t.dims {
		n *= d
	}
	return n
}

// lift makes a tile of x: a tile stays, a number becomes a scalar of type like.
func (k *Kernel) lift(x any, like DType) *Tile {
	switch x := x.(type) {
	case *Tile:
		return x
	case int:
		return k.Full(like, float64(x))
	case float64:
		if like.float() {
			return k.Full(like, x)
		}
	}
	k.fail("%v (%T): an operand must be a tile, an int or, beside floats, a float64", x, x)
	return nil
}

// together broadcasts tiles to one shape.
func (k *Kernel) together(what string, ts ...*Tile) []*Tile {
	var dims []int
	for _, t := range ts {
		if len(t.dims) > 0 && dims == nil {
			dims = slices.Clone(t.dims)
		}
	}
	for _, t := range ts {
		if len(t.dims) == 0 {
			continue
		}
		if len(t.dims) != len(dims) {
			k.fail("%s of %s", what, types(ts))
		}
		for i, d := range t.dims {
			if d != dims[i] && d != 1 && dims[i] != 1 {
				k.fail("%s of %s", what, types(ts))
			}
			dims[i] = max(dims[i], d)
		}
	}
	out := make([]*Tile, len(ts))
	for i, t := range ts {
		out[i] = t.Broadcast(dims...)
	}
	return out
}

func types(ts []*Tile) string {
	var s []string
	for _, t := range ts {
		s = append(s, t.ir())
	}
	return strings.Join(s, " and ")
}
