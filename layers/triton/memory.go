package triton

import (
	"fmt"
	"math"
)

// Memory is an argument of a kernel: an array in the device's memory, row-major.
type Memory struct {
	k       *Kernel
	name    string
	dtype   DType
	dims    []int
	written bool
	number  int
}

// In declares the next argument, an array that the kernel reads. All that are read
// come before those that are written: a launch passes operands, then results.
func (k *Kernel) In(name string, dtype DType, dims ...int) *Memory {
	return k.argument(name, dtype, dims, false)
}

// Out declares the next argument, an array that the kernel writes.
func (k *Kernel) Out(name string, dtype DType, dims ...int) *Memory {
	return k.argument(name, dtype, dims, true)
}

func (k *Kernel) argument(name string, dtype DType, dims []int, written bool) *Memory {
	n := 1
	for _, d := range dims {
		n *= d
	}
	if n < 1 || n > math.MaxInt32 || !dtype.float() {
		k.fail("argument %s: %s%v: must be floats, and 1 to 2^31-1 of them", name, dtype, dims)
	}
	if last := len(k.args) - 1; !written && last >= 0 && k.args[last].written {
		k.fail("argument %s, which is read, comes after %s, which is written: a launch passes operands, then results", name, k.args[last].name)
	}
	m := &Memory{k: k, name: name, dtype: dtype, dims: dims, written: written, number: len(k.args)}
	k.args = append(k.args, m)
	return m
}

func (m *Memory) pointer() string { return "%" + m.name }

// place is where a load or store goes: an index for each axis, broadcast together.
type place struct {
	at     []*Tile
	spread [][]int // how each index is spread over the lanes; nil: as it is
	offset *Tile
	mask   *Tile // or nil
}

func (m *Memory) place(mask *Tile, at []any) place {
	k := m.k
	if len(at) != len(m.dims) {
		k.fail("%d indices into %s%v", len(at), m.name, m.dims)
	}
	var p place
	for axis, x := range at { // ((i₀ d₁ + i₁) d₂ + i₂) ...
		i := k.lift(x, I32)
		if i.dtype != I32 {
			k.fail("%s as an index into %s%v", i.ir(), m.name, m.dims)
		}
		p.at = append(p.at, i)
		if axis == 0 {
			p.offset = i
		} else {
			p.offset = p.offset.Mul(m.dims[axis]).Add(i)
		}
	}
	all := append(append([]*Tile{}, p.at...), p.offset)
	if mask != nil {
		all = append(all, mask)
	}
	shaped := k.together("indices", all...)
	p.offset = shaped[len(at)]
	for _, i := range p.at {
		p.spread = append(p.spread, spread(i.dims, p.offset.dims))
	}
	if mask != nil {
		p.mask = shaped[len(at)+1]
	}
	return p
}

// pointers prints the addresses and returns their name and type.
func (m *Memory) pointers(p place) (name, ir string) {
	k := m.k
	element := "!tt.ptr<" + m.dtype.String() + ">"
	ir = irType(element, p.offset.dims)
	base := m.pointer()
	k.slots++
	name = fmt.Sprintf("%%p%d", k.slots)
	if len(p.offset.dims) > 0 {
		k.at.ops = append(k.at.ops, op{text: fmt.Sprintf("%ss = tt.splat %s : %s -> %s", name, base, element, ir)})
		base = name + "s"
	}
	k.at.ops = append(k.at.ops, op{text: fmt.Sprintf("%s = tt.addptr %s, %s : %s, %s", name, base, p.offset.name(), ir, p.offset.ir())})
	return name, ir
}

// Load reads at indices, one for each axis: a tile or an int each.
func (m *Memory) Load(at ...any) *Tile { return m.LoadIf(nil, at...) }

// LoadIf reads where the mask holds and is 0 elsewhere; a nil mask holds always.
func (m *Memory) LoadIf(mask *Tile, at ...any) *Tile {
	if m.written {
		m.k.fail("load from %s, which is written", m.name)
	}
	p := m.place(mask, at)
	name, ir := m.pointers(p)
	args := ""
	if mask != nil {
		args = fmt.Sprintf(", %s, %s", p.mask.name(), m.k.Full(m.dtype, 0, p.offset.dims...).name())
	}
	out := m.k.tile(m.dtype, p.offset.dims...)
	return m.k.emit(out, func(r *machine) error {
		y := r.floats(out)
		return r.access(m, p, false, func(lane, at int) { y[lane] = r.args[m.number].Values[at] }, func(lane int) { y[lane] = 0 })
	}, "tt.load %s%s : %s", name, args, ir)
}

// Store writes a value at indices; all are broadcast together.
func (m *Memory) Store(value *Tile, at ...any) { m.StoreIf(nil, value, at...) }

// StoreIf writes where the mask holds; a nil mask holds always.
func (m *Memory) StoreIf(mask, value *Tile, at ...any) {
	if !m.written {
		m.k.fail("store to %s, which is read", m.name)
	}
	p := m.place(mask, at)
	if len(value.dims) != len(p.offset.dims) || value.dtype != m.dtype {
		m.k.fail("store of %s to %s %s%v", value.ir(), m.name, m.dtype, m.dims)
	}
	value = value.Broadcast(p.offset.dims...)
	name, ir := m.pointers(p)
	args := name + ", " + value.name()
	if mask != nil {
		args += ", " + p.mask.name()
	}
	m.k.at.ops = append(m.k.at.ops, op{text: fmt.Sprintf("tt.store %s : %s", args, ir), run: func(r *machine) error {
		x := r.floats(value)
		return r.access(m, p, true, func(lane, at int) { r.args[m.number].Values[at] = x[lane] }, nil)
	}})
}

// Argument describes an argument of a kernel.
type Argument struct {
	Name    string
	DType   DType
	Dims    []int
	Written bool
}

// Args lists the arguments in order.
func (k *Kernel) Args() []Argument {
	var out []Argument
	for _, a := range k.args {
		out = append(out, Argument{a.name, a.dtype, a.dims, a.written})
	}
	return out
}
