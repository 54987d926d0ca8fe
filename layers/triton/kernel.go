package triton

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/support/exceptions"
)

// Kernel is a program over tiles, run once for every point of its grid.
type Kernel struct {
	Name   string
	Warps  int    // threads of a program / 32
	Stages int    // depth to which loads of loops are pipelined, unless the loop says
	Grid   [3]int // programs along each axis

	// Registers bounds what a thread uses, so that more programs fit a
	// multiprocessor; what does not fit is kept in memory. 0 is no bound.
	Registers int

	args  []*Memory
	body  block
	at    *block // where operations are added
	slots int    // tiles so far
}

type block struct{ ops []op }

// op is one operation: its line of IR, the lines within for a loop, and what
// the interpreter does.
type op struct {
	text, end string
	body      *block
	run       func(*machine) error
}

// New begins a kernel with a grid of up to three axes.
func New(name string, warps, stages int, grid ...int) *Kernel {
	k := &Kernel{Name: name, Warps: warps, Stages: stages, Grid: [3]int{1, 1, 1}}
	for axis, n := range grid {
		if n < 1 || axis > 0 && n > 65535 {
			exceptions.Panicf("triton: kernel %s: grid %v: each axis must be at least 1, and at most 65535 after the first", name, grid)
		}
		k.Grid[axis] = n
	}
	k.at = &k.body
	return k
}

func (k *Kernel) fail(format string, args ...any) {
	exceptions.Panicf("triton: kernel %s: %s", k.Name, fmt.Sprintf(format, args...))
}

// emit adds an operation with one result.
func (k *Kernel) emit(out *Tile, run func(*machine) error, format string, args ...any) *Tile {
	k.at.ops = append(k.at.ops, op{text: out.name() + " = " + fmt.Sprintf(format, args...), run: run})
	return out
}

// Program is the program's place on an axis of the grid, from 0.
func (k *Kernel) Program(axis int) *Tile {
	out := k.tile(I32)
	return k.emit(out, func(m *machine) error {
		m.ints(out)[0] = int32(m.program[axis])
		return nil
	}, "tt.get_program_id %c : i32", "xyz"[axis])
}

// Range is 0, 1, ... n-1.
func (k *Kernel) Range(n int) *Tile {
	out := k.tile(I32, n)
	return k.emit(out, func(m *machine) error {
		for i := range m.ints(out) {
			m.ints(out)[i] = int32(i)
		}
		return nil
	}, "tt.make_range {end = %d : i32, start = 0 : i32} : %s", n, out.ir())
}

// Full is a tile of one number.
func (k *Kernel) Full(dtype DType, value float64, dims ...int) *Tile {
	out := k.tile(dtype, dims...)
	number := fmt.Sprint(int(value))
	if dtype.float() {
		number = fmt.Sprintf("0x%08X", math.Float32bits(float32(value)))
		if dtype == BF16 {
			number = fmt.Sprintf("0x%04X", math.Float32bits(roundBF16(float32(value)))>>16)
		}
	}
	if len(dims) > 0 {
		number = "dense<" + number + ">"
	}
	return k.emit(out, func(m *machine) error {
		if dtype.float() {
			fill(m.floats(out), dtype.round(float32(value)))
		} else {
			fill(m.ints(out), int32(value))
		}
		return nil
	}, "arith.constant %s : %s", number, out.ir())
}

// For runs body n times and hands tiles from turn to turn, beginning with the
// carry given; it returns the last ones. The loads of the body are fetched up to
// stages-1 turns ahead if their tiles feed products.
func (k *Kernel) For(n, stages int, carry []*Tile, body func(i *Tile, carry []*Tile) []*Tile) []*Tile {
	return k.Loop(k.Full(I32, 0), k.Full(I32, float64(n)), stages, carry, body)
}

// Loop is For with i = from, from+1, ... to-1, which each program finds for itself;
// there is no turn if to is at most from.
func (k *Kernel) Loop(from, to *Tile, stages int, carry []*Tile, body func(i *Tile, carry []*Tile) []*Tile) []*Tile {
	if from.dtype != I32 || to.dtype != I32 || len(from.dims)+len(to.dims) > 0 {
		k.fail("a loop from %s to %s: both must be i32", from.ir(), to.ir())
	}
	step := k.Full(I32, 1)
	i := k.tile(I32)
	outs := make([]*Tile, len(carry))
	within := make([]*Tile, len(carry))
	var inits, types []string
	for j, c := range carry {
		outs[j], within[j] = k.tile(c.dtype, c.dims...), k.tile(c.dtype, c.dims...)
		inits, types = append(inits, within[j].name()+" = "+c.name()), append(types, c.ir())
	}
	outer, inner := k.at, &block{}
	k.at = inner
	next := body(i, within)
	k.at = outer
	if len(next) != len(carry) {
		k.fail("a loop carries %d tiles, and its body returns %d", len(carry), len(next))
	}
	for j, c := range carry {
		if next[j].dtype != c.dtype || !slices.Equal(next[j].dims, c.dims) {
			k.fail("a loop carries %s as its tile %d, and its body returns %s", c.ir(), j, next[j].ir())
		}
	}
	head := fmt.Sprintf("scf.for %s = %s to %s step %s", i.name(), from.name(), to.name(), step.name())
	yield := op{text: "scf.yield"}
	if len(carry) > 0 {
		head = fmt.Sprintf("%s = %s iter_args(%s) -> (%s)", names(outs), head, strings.Join(inits, ", "), strings.Join(types, ", "))
		yield.text = fmt.Sprintf("scf.yield %s : %s", names(next), strings.Join(types, ", "))
	}
	inner.ops = append(inner.ops, yield)
	k.at.ops = append(k.at.ops, op{
		text: head + " : i32 {",
		body: inner,
		end:  fmt.Sprintf("} {tt.num_stages = %d : i32}", stages),
		run: func(m *machine) error {
			m.move(within, carry)
			for turn := m.ints(from)[0]; turn < m.ints(to)[0]; turn++ {
				m.ints(i)[0] = turn
				if err := m.block(inner); err != nil {
					return err
				}
				m.move(within, next)
			}
			m.move(outs, within)
			return nil
		},
	})
	return slices.Clone(outs) // the caller may change the slice
}

func names(ts []*Tile) string {
	var s []string
	for _, t := range ts {
		s = append(s, t.name())
	}
	return strings.Join(s, ", ")
}

// Text prints the kernel as a module of Triton IR.
func (k *Kernel) Text() string {
	var b strings.Builder
	var args []string
	for _, a := range k.args {
		args = append(args, fmt.Sprintf("%s: !tt.ptr<%s> {tt.divisibility = 16 : i32}", a.pointer(), a.dtype))
	}
	attributes := ""
	if k.Registers > 0 {
		attributes = fmt.Sprintf("attributes {\"ttg.maxnreg\" = %d : i32} ", k.Registers)
	}
	fmt.Fprintf(&b, "module %s{\n  tt.func public @%s(%s) attributes {noinline = false} {\n", attributes, k.Name, strings.Join(args, ", "))
	k.body.print(&b, "    ")
	b.WriteString("    tt.return\n  }\n}\n")
	return b.String()
}

func (bl *block) print(b *strings.Builder, indent string) {
	for _, o := range bl.ops {
		fmt.Fprintf(b, "%s%s\n", indent, o.text)
		if o.body != nil {
			o.body.print(b, indent+"  ")
			fmt.Fprintf(b, "%s%s\n", indent, o.end)
		}
	}
}
