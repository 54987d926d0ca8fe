package triton

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/support/exceptions"
)

// double is y = 2x over n numbers, 16 a program, with the index of a program's
// first number given.
func double(n int, first func(k *Kernel) *Tile, mask bool) *Kernel {
	k := New("double", 1, 1, (n+15)/16)
	x, y := k.In("x", F32, n), k.Out("y", F32, n)
	i := first(k).Add(k.Range(16))
	var some *Tile
	if mask {
		some = i.Less(n)
	}
	y.StoreIf(some, x.LoadIf(some, i).Mul(2), i)
	return k
}

func rising(n int) *Buffer {
	b := NewBuffer(F32, n)
	for i := range b.Values {
		b.Values[i] = float32(i)
	}
	return b
}

func TestRun(t *testing.T) {
	y := NewBuffer(F32, 37)
	k := double(37, func(k *Kernel) *Tile { return k.Program(0).Mul(16) }, true)
	if err := k.Run(rising(37), y); err != nil {
		t.Fatal(err)
	}
	for i, v := range y.Values {
		if v != float32(2*i) {
			t.Errorf("y[%d] = %g", i, v)
		}
	}
}

func TestMistakesAreFound(t *testing.T) {
	programs := func(factor int) func(k *Kernel) *Tile {
		return func(k *Kernel) *Tile { return k.Program(0).Mul(factor) }
	}
	same := rising(48)
	for _, c := range []struct {
		what string
		k    *Kernel
		args []*Buffer
		want string
	}{
		{"a tail without a mask", double(37, programs(16), false), []*Buffer{rising(37), NewBuffer(F32, 37)},
			"kernel double, program (2,0,0): reads argument x at index 37 of axis 0, outside of [37]"},
		{"an index below 0", double(32, func(k *Kernel) *Tile { return k.Program(0).Mul(16).Sub(1) }, false), []*Buffer{rising(32), NewBuffer(F32, 32)},
			"kernel double, program (0,0,0): reads argument x at index -1 of axis 0, outside of [32]"},
		{"two writers", double(32, programs(8), false), []*Buffer{rising(32), NewBuffer(F32, 32)},
			"kernel double, program (1,0,0): writes argument y at element 8 of [32], and another program writes it too"},
		{"a reader after the writer", double(48, programs(8), false), []*Buffer{same, same},
			"kernel double, program (1,0,0): reads argument x at element 8 of [48], and another program writes it"},
		{"a wrong argument", double(32, programs(16), false), []*Buffer{rising(32), NewBuffer(BF16, 32)},
			"kernel double: argument y is bf16[32], expected f32[32]"},
	} {
		err := c.k.Run(c.args...)
		if fmt.Sprint(err) != c.want {
			t.Errorf("%s: %v, expected %s", c.what, err, c.want)
		}
	}
}

// A write of what another program has read is as much of a race.
func TestWriteAfterRead(t *testing.T) {
	k := New("shift", 1, 1, 2)
	x, y := k.In("x", F32, 32), k.Out("y", F32, 32)
	p, i := k.Program(0), k.Range(16)
	above := i.Add(16)
	y.Store(x.LoadIf(p.Equal(0).Broadcast(16), above), p.Mul(16).Add(i)) // only program 0 reads
	b := rising(32)
	want := "kernel shift, program (1,0,0): writes argument y at element 16 of [32], and another program reads it"
	if err := k.Run(b, b); fmt.Sprint(err) != want {
		t.Errorf("%v, expected %s", err, want)
	}
}

func TestShapesArePanics(t *testing.T) {
	for want, build := range map[string]func(k *Kernel){
		"sum of tensor<16xf32> and tensor<32xf32>":                  func(k *Kernel) { k.Full(F32, 0, 16).Add(k.Full(F32, 0, 32)) },
		"sum of tensor<16xf32> and tensor<16xi32>":                  func(k *Kernel) { k.Full(F32, 0, 16).Add(k.Range(16)) },
		"product of tensor<16xbf16> and tensor<16xbf16>":            func(k *Kernel) { k.Full(BF16, 0, 16).Mul(k.Full(BF16, 0, 16)) },
		"matrix product of tensor<16x32xf32> and tensor<16x32xf32>": func(k *Kernel) { Dot(k.Full(F32, 0, 16, 32), k.Full(F32, 0, 16, 32), TF32) },
		"matrix product of tensor<8x16xf32> and tensor<16x16xf32>: no dimension may be less than 16": func(k *Kernel) {
			Dot(k.Full(F32, 0, 8, 16), k.Full(F32, 0, 16, 16), TF32)
		},
		"matrix product of tensor<2x16x16xf32> and tensor<4x16x16xf32>": func(k *Kernel) { Dot(k.Full(F32, 0, 2, 16, 16), k.Full(F32, 0, 4, 16, 16), TF32) },
		"matrix product of tensor<2x16x16xf32> and tensor<16x16xf32>":   func(k *Kernel) { Dot(k.Full(F32, 0, 2, 16, 16), k.Full(F32, 0, 16, 16), TF32) },
		"a tile of [24]: dimensions must be powers of two":              func(k *Kernel) { k.Range(24) },
		"1 indices into x[4 16]":                                        func(k *Kernel) { k.In("x", F32, 4, 16).Load(0) },
		"store of tensor<16xf32> to y bf16[16]":                         func(k *Kernel) { k.Out("y", BF16, 16).Store(k.Full(F32, 0, 16), k.Range(16)) },
		"load from y, which is written":                                 func(k *Kernel) { k.Out("y", F32, 16).Load(k.Range(16)) },
		"a loop carries tensor<16xf32> as its tile 0, and its body returns tensor<16xbf16>": func(k *Kernel) {
			k.For(2, 1, []*Tile{k.Full(F32, 0, 16)}, func(_ *Tile, c []*Tile) []*Tile { return []*Tile{c[0].To(BF16)} })
		},
		"a loop from i32 to tensor<16xi32>: both must be i32": func(k *Kernel) { k.Loop(k.Program(0), k.Range(16), 1, nil, nil) },
		"maximum of axis 2 of tensor<16x16xf32>":              func(k *Kernel) { k.Full(F32, 0, 16, 16).Largest(2) },
		"argument x, which is read, comes after y, which is written: a launch passes operands, then results": func(k *Kernel) {
			k.Out("y", F32, 16)
			k.In("x", F32, 16)
		},
		"permutation [0 0] of tensor<16x16xf32>": func(k *Kernel) { k.Full(F32, 0, 16, 16).Permute(0, 0) },
		"reshape of tensor<16xf32> to [8]":       func(k *Kernel) { k.Full(F32, 0, 16).Reshape(8) },
		"sum of axis 1 of tensor<16xf32>":        func(k *Kernel) { k.Full(F32, 0, 16).Sum(1) },
		"broadcast of tensor<16xf32> to [32]":    func(k *Kernel) { k.Full(F32, 0, 16).Broadcast(32) },
		"conversion of tensor<16xf32> to i32":    func(k *Kernel) { k.Full(F32, 0, 16).To(I32) },
	} {
		err := exceptions.TryCatch[error](func() { build(New("wrong", 1, 1, 1)) })
		if err == nil || !strings.HasSuffix(err.Error(), "triton: kernel wrong: "+want) {
			t.Errorf("%v, expected %s", err, want)
		}
	}
}

// apply runs a kernel of one program that makes a tile of x [n,m].
func apply(t *testing.T, x []float64, n, m int, dtype DType, f func(x *Tile) *Tile) []float32 {
	t.Helper()
	k := New("apply", 1, 1, 1)
	in := k.In("x", dtype, n, m)
	y := f(in.Load(k.Range(n).Col(), k.Range(m).Row()))
	dims := y.Dims()
	out := k.Out("y", y.DType(), dims...)
	at := []any{k.Range(dims[0])}
	if len(dims) == 2 {
		at = []any{k.Range(dims[0]).Col(), k.Range(dims[1]).Row()}
	}
	out.Store(y, at...)
	b := NewBuffer(y.DType(), dims...)
	if err := k.Run(FromFloat64(dtype, x, n, m), b); err != nil {
		t.Fatal(err)
	}
	return b.Values
}

func TestShapesOfTiles(t *testing.T) {
	x := []float64{1, 2, 3, 4, 5, 6, 7, 8} // [2,4]
	for _, c := range []struct {
		name string
		f    func(x *Tile) *Tile
		want []float32
	}{
		{"transpose", func(x *Tile) *Tile { return x.T() }, []float32{1, 5, 2, 6, 3, 7, 4, 8}},
		{"reshape", func(x *Tile) *Tile { return x.Reshape(4, 2).T() }, []float32{1, 3, 5, 7, 2, 4, 6, 8}},
		{"sum of rows", func(x *Tile) *Tile { return x.Sum(1) }, []float32{10, 26}},
		{"sum of columns", func(x *Tile) *Tile { return x.Sum(0) }, []float32{6, 8, 10, 12}},
		{"largest of rows", func(x *Tile) *Tile { return x.Sub(9).Largest(1) }, []float32{-5, -1}},
		{"largest of columns", func(x *Tile) *Tile { return x.Mul(x.Sub(5)).Largest(0) }, []float32{0, 6, 14, 24}},
		{"powers of two", func(x *Tile) *Tile { return x.Sub(4).Exp2() }, []float32{0.125, 0.25, 0.5, 1, 2, 4, 8, 16}},
		{"logarithms to base 2", func(x *Tile) *Tile { return x.Mul(2).Log2() }, []float32{1, 2, 2.5849625, 3, 3.321928, 3.5849625, 3.807355, 4}},
		{"running sum", func(x *Tile) *Tile { return x.CumSum(1, false) }, []float32{1, 3, 6, 10, 5, 11, 18, 26}},
		{"running sum from the end", func(x *Tile) *Tile { return x.CumSum(0, true) }, []float32{6, 8, 10, 12, 5, 6, 7, 8}},
		{"broadcast", func(x *Tile) *Tile { return x.Sub(x.Sum(1).Col()) }, []float32{-9, -8, -7, -6, -21, -20, -19, -18}},
		{"functions", func(x *Tile) *Tile { return x.Neg().Max(-3.5).Min(-2).Abs().Sqrt().Log().Exp() }, []float32{1.4142135, 1.4142135, 1.7320508, 1.8708287, 1.8708287, 1.8708287, 1.8708287, 1.8708287}},
		{"carried", func(x *Tile) *Tile {
			return x.k.For(3, 1, []*Tile{x, x.Mul(10)}, func(i *Tile, c []*Tile) []*Tile {
				return []*Tile{c[1], c[0].Add(i.To(F32))} // swapped in every turn
			})[0]
		}, []float32{11, 21, 31, 41, 51, 61, 71, 81}},
	} {
		got := apply(t, x, 2, 4, F32, c.f)
		for i, v := range c.want {
			if math.Abs(float64(got[i]-v)) > 1e-6 {
				t.Errorf("%s: %v, expected %v", c.name, got, c.want)
				break
			}
		}
	}
}

// A program finds the bounds of a loop itself, and there may be no turn.
func TestLoop(t *testing.T) {
	k := New("rows", 1, 1, 5)
	y := k.Out("y", F32, 5)
	p := k.Program(0)
	sum := k.Loop(p, p.Mul(p).Sub(3), 1, []*Tile{k.Full(F32, 100)}, func(i *Tile, c []*Tile) []*Tile {
		return []*Tile{c[0].Add(i.To(F32))}
	})[0]
	y.Store(sum, p)
	b := NewBuffer(F32, 5)
	if err := k.Run(b); err != nil {
		t.Fatal(err)
	}
	for i, want := range []float32{100, 100, 100, 100 + 3 + 4 + 5, 100 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 + 12} {
		if b.Values[i] != want {
			t.Errorf("program %d: %g, expected %g", i, b.Values[i], want)
		}
	}
}

// Products round their operands as the precision says.
func TestPrecision(t *testing.T) {
	x := make([]float64, 256)
	x[0], x[1] = 1+1.0/(1<<12), 1+1.0/(1<<8) // 1 + 2⁻¹² is cut to 1 in TF32, 1 + 2⁻⁸ rounded to 1 in BF16
	for _, c := range []struct {
		precision Precision
		dtype     DType
		want      float64 // x[0]² + x[1]²
	}{
		{IEEE, F32, x[0]*x[0] + x[1]*x[1]},
		{TF32x3, F32, x[0]*x[0] + x[1]*x[1]},
		{TF32, F32, 1 + x[1]*x[1]},
		{TF32, BF16, 2},
	} {
		got := apply(t, x, 16, 16, c.dtype, func(x *Tile) *Tile { return Dot(x, x.T(), c.precision) })[0]
		if math.Abs(float64(got)-c.want) > 3e-7 {
			t.Errorf("%s of %s: %.9g, expected %.9g", c.precision, c.dtype, got, c.want)
		}
	}
}

// A product of three axes is one of each pair of matrices.
func TestProductsOfPairs(t *testing.T) {
	x := make([]float64, 512)
	for i := range x {
		x[i] = float64(i%13) - 6
	}
	pairs := func(x *Tile) *Tile { return x.Reshape(2, 16, 16) }
	got := apply(t, x, 32, 16, F32, func(x *Tile) *Tile {
		return DotAdd(pairs(x), pairs(x), pairs(x).Permute(0, 2, 1), TF32).Reshape(32, 16)
	})
	for i := range got {
		row, column := i/16, i/256*16+i%16
		want := x[i]
		for j := range 16 {
			want += x[row*16+j] * x[column*16+j]
		}
		if float64(got[i]) != want {
			t.Fatalf("element %d is %g, expected %g", i, got[i], want)
		}
	}
}

func TestRoundBF16(t *testing.T) {
	for x, want := range map[float32]float32{1: 1, 1 + 1.0/(1<<8): 1, 1 + 3.0/(1<<8): 1 + 4.0/(1<<8), -1 - 1.0/(1<<7): -1 - 1.0/(1<<7),
		float32(math.Inf(1)): float32(math.Inf(1)), 3.4e38: float32(math.Inf(1))} {
		if got := roundBF16(x); got != want {
			t.Errorf("%g becomes %g, expected %g", x, got, want)
		}
	}
	if got := roundBF16(float32(math.NaN())); got == got {
		t.Error("NaN became", got)
	}
}

// The text is what Triton 3.6 parses.
func TestText(t *testing.T) {
	k := New("walk", 4, 2, 3)
	k.Registers = 96
	x, y := k.In("x", BF16, 3, 64, 16), k.Out("y", F32, 3, 16)
	i := k.Range(16)
	sum := k.For(4, 2, []*Tile{k.Full(F32, 0, 16)}, func(turn *Tile, c []*Tile) []*Tile {
		t := turn.Mul(16).Add(i)
		return []*Tile{c[0].Add(x.LoadIf(t.Less(50).Col(), k.Program(0), t.Col(), i.Row()).To(F32).Sum(0))}
	})[0]
	y.Store(sum, k.Program(0), i)
	for _, line := range []string{
		`module attributes {"ttg.maxnreg" = 96 : i32} {`,
		`  tt.func public @walk(%x: !tt.ptr<bf16> {tt.divisibility = 16 : i32}, %y: !tt.ptr<f32> {tt.divisibility = 16 : i32}) attributes {noinline = false} {`,
		` = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>`,
		` iter_args(`, `) -> (tensor<16xf32>) : i32 {`, `} {tt.num_stages = 2 : i32}`,
		` = arith.cmpi slt, `, ` : tensor<16x16x!tt.ptr<bf16>>`, `}) : (tensor<16x16xf32>) -> tensor<16xf32>`, `    tt.return`,
	} {
		if !strings.Contains(k.Text(), line) {
			t.Errorf("there is no %q in\n%s", line, k.Text())
		}
	}
}
