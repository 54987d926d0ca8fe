// Package triton writes GPU kernels: a kernel is built from typed tiles, printed
// as Triton IR (the tt dialect with arith, math and scf, as Triton 3.6 prints
// it), which XLA compiles for NVIDIA devices, and run by an interpreter in plain
// Go over slices, which needs no device.
//
//	k := triton.New("scale", 4, 1, n/64)          // 4 warps, n/64 programs
//	x, y := k.In("x", triton.BF16, n), k.Out("y", triton.F32, n)
//	i := k.Program(0).Mul(64).Add(k.Range(64))
//	y.Store(x.Load(i).To(triton.F32).Mul(2), i)
//
// Every kernel is a grid of programs that share nothing but memory. Shapes are
// constants: loop bounds, strides and masks are numbers in the text. Dimensions
// of tiles are powers of two; a tile without dimensions is a scalar. Operands of
// one operation broadcast as in NumPy, from equal ranks or a scalar. Wrong shapes
// and types panic while the kernel is built and name both sides.
//
// The interpreter finds what a device does not report: an index outside of its
// axis, two programs that write one address, a read of what the same launch
// writes. Numbers are rounded to bfloat16 where a tile is, and products of
// float32 tiles to the precision they ask for.
package triton
