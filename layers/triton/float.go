package triton

// Reciprocal returns 1/t to within one unit in the last place; denormal numbers
// count as 0. A quotient costs several times as much on a device.
func (t *Tile) Reciprocal() *Tile {
	if t.dtype != F32 {
		t.k.fail("reciprocal of %s", t.ir())
	}
	out := t.k.tile(F32, t.dims...)
	return t.k.emit(out, func(m *machine) error {
		y := m.floats(out)
		for i, x := range m.floats(t) {
			y[i] = 1 / x
		}
		return nil
	}, `tt.elementwise_inline_asm "rcp.approx.ftz.f32 $0, $1;" {constraints = "=r,r", packed_element = 1 : i32, pure = true} %s : %s -> %s`,
		t.name(), t.ir(), out.ir())
}

// NotZero tells where t ≠ 0, of F32.
func (t *Tile) NotZero() *Tile {
	if t.dtype != F32 {
		t.k.fail("comparison of %s", t.ir())
	}
	zero, out := t.k.Full(F32, 0, t.dims...), t.k.tile(I1, t.dims...)
	return t.k.emit(out, func(m *machine) error {
		y := m.ints(out)
		for i, x := range m.floats(t) {
			y[i] = 0
			if x != 0 {
				y[i] = 1
			}
		}
		return nil
	}, "arith.cmpf une, %s, %s : %s", t.name(), zero.name(), t.ir())
}

// DType returns the type of an argument's elements.
func (m *Memory) DType() DType { return m.dtype }
