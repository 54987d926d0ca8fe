package triton

import (
	"fmt"
	"math"
	"slices"
)

// Buffer is an array that a kernel is run on; numbers of BF16 are kept as float32.
type Buffer struct {
	DType  DType
	Dims   []int
	Values []float32
}

// NewBuffer makes an array of NaN, so that whatever was not written shows.
func NewBuffer(dtype DType, dims ...int) *Buffer {
	n := 1
	for _, d := range dims {
		n *= d
	}
	b := &Buffer{DType: dtype, Dims: dims, Values: make([]float32, n)}
	fill(b.Values, float32(math.NaN()))
	return b
}

// FromFloat64 makes an array of the values, rounded to its type.
func FromFloat64(dtype DType, values []float64, dims ...int) *Buffer {
	b := NewBuffer(dtype, dims...)
	if len(values) != len(b.Values) {
		panic(fmt.Sprintf("triton: %d values for an array of %v", len(values), dims))
	}
	for i, v := range values {
		b.Values[i] = dtype.round(float32(v))
	}
	return b
}

// Float64 returns the values.
func (b *Buffer) Float64() []float64 {
	out := make([]float64, len(b.Values))
	for i, v := range b.Values {
		out[i] = float64(v)
	}
	return out
}

// machine runs the programs of one launch, one after the other.
type machine struct {
	k       *Kernel
	args    []*Buffer
	touched [][]touch // of each argument's elements
	program [3]int
	number  int32 // of the program, from 1
	f       [][]float32
	i       [][]int32
}

// touch says which program has written and which has read an element: 0 none,
// else its number, or several.
type touch struct{ writer, reader int32 }

const several = -1

// Run interprets the kernel over its whole grid. The arguments are those declared,
// in order. It returns an error if they do not fit, if an index lies outside of
// its axis, or if programs get in each other's way: two write one element, or one
// reads what is written in this launch.
func (k *Kernel) Run(args ...*Buffer) error {
	if len(args) != len(k.args) {
		return fmt.Errorf("kernel %s: %d arguments, expected %d", k.Name, len(args), len(k.args))
	}
	m := &machine{k: k, args: args, f: make([][]float32, k.slots), i: make([][]int32, k.slots)}
	for j, a := range k.args {
		if args[j].DType != a.dtype || !slices.Equal(args[j].Dims, a.dims) {
			return fmt.Errorf("kernel %s: argument %s is %s%v, expected %s%v", k.Name, a.name, args[j].DType, args[j].Dims, a.dtype, a.dims)
		}
		m.touched = append(m.touched, make([]touch, len(args[j].Values)))
		if same := slices.Index(args[:j], args[j]); same >= 0 {
			m.touched[j] = m.touched[same]
		}
	}
	for z := range k.Grid[2] {
		for y := range k.Grid[1] {
			for x := range k.Grid[0] {
				m.program = [3]int{x, y, z}
				m.number++
				if err := m.block(&k.body); err != nil {
					return fmt.Errorf("kernel %s, program (%d,%d,%d): %w", k.Name, x, y, z, err)
				}
			}
		}
	}
	return nil
}

func (m *machine) block(b *block) error {
	for _, o := range b.ops {
		if o.run == nil {
			continue
		}
		if err := o.run(m); err != nil {
			return err
		}
	}
	return nil
}

// floats returns the tile's numbers; every operation overwrites all of its result.
func (m *machine) floats(t *Tile) []float32 {
	if m.f[t.slot] == nil {
		m.f[t.slot] = make([]float32, t.size())
	}
	return m.f[t.slot]
}

func (m *machine) ints(t *Tile) []int32 {
	if m.i[t.slot] == nil {
		m.i[t.slot] = make([]int32, t.size())
	}
	return m.i[t.slot]
}

// pick sets element i of out to element from[i] of t; without from, to the same.
func (m *machine) pick(out *Tile, from []int, t *Tile) {
	if t.dtype.float() {
		gather(m.floats(out), m.floats(t), from)
	} else {
		gather(m.ints(out), m.ints(t), from)
	}
}

func gather[T any](y, x []T, from []int) {
	if from == nil {
		copy(y, x)
	}
	for i, j := range from {
		y[i] = x[j]
	}
}

// move copies tiles at once: from may hold some of to.
func (m *machine) move(to, from []*Tile) {
	f, i := make([][]float32, len(to)), make([][]int32, len(to))
	for j, t := range from {
		f[j], i[j] = slices.Clone(m.f[t.slot]), slices.Clone(m.i[t.slot])
	}
	for j, t := range to {
		m.f[t.slot], m.i[t.slot] = f[j], i[j]
	}
}

// access calls do for every lane of a load or store with its address, and skip
// for those that the mask leaves out.
func (m *machine) access(a *Memory, p place, write bool, do func(lane, at int), skip func(lane int)) error {
	size := p.offset.size()
	index := make([][]int32, len(p.at))
	for axis, t := range p.at {
		index[axis] = m.ints(t)
		if p.spread[axis] != nil {
			index[axis] = make([]int32, size)
			gather(index[axis], m.ints(t), p.spread[axis])
		}
	}
	for lane := range size {
		if p.mask != nil && m.ints(p.mask)[lane] == 0 {
			if skip != nil {
				skip(lane)
			}
			continue
		}
		at := 0
		for axis, i := range index {
			v := i[lane]
			if v < 0 || int(v) >= a.dims[axis] {
				return fmt.Errorf("%s argument %s at index %d of axis %d, outside of %v", verb(write), a.name, v, axis, a.dims)
			}
			at = at*a.dims[axis] + int(v)
		}
		if err := m.touch(a, at, write); err != nil {
			return err
		}
		do(lane, at)
	}
	return nil
}

// touch records an access and refuses one that depends on the order of programs.
func (m *machine) touch(a *Memory, at int, write bool) error {
	t := &m.touched[a.number][at]
	what := ""
	switch {
	case write && t.writer != 0 && t.writer != m.number:
		what = "writes it too"
	case write && t.reader != 0 && t.reader != m.number:
		what = "reads it"
	case !write && t.writer != 0 && t.writer != m.number:
		what = "writes it"
	}
	if what != "" {
		return fmt.Errorf("%s argument %s at element %d of %v, and another program %s", verb(write), a.name, at, a.dims, what)
	}
	if write {
		t.writer = m.number
	} else if t.reader == 0 || t.reader == m.number {
		t.reader = m.number
	} else {
		t.reader = several
	}
	return nil
}

func verb(write bool) string {
	if write {
		return "writes"
	}
	return "reads"
}
