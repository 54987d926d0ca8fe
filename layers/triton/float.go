package triton

import "math"

// What a device has in one instruction, without other libraries; denormal numbers
// count as 0.

// Reciprocal returns 1/t to within one unit in the last place. A quotient costs
// several times as much on a device.
func (t *Tile) Reciprocal() *Tile {
	return t.instruction("rcp", func(x float64) float64 { return 1 / x })
}

// Exp2 returns 2ᵗ to within 2⁻²² of it.
func (t *Tile) Exp2() *Tile { return t.instruction("ex2", math.Exp2) }

// Log2 returns log₂ t to within 2⁻²² of it, or by 2⁻²² where t is in (1/2, 2).
func (t *Tile) Log2() *Tile { return t.instruction("lg2", math.Log2) }

func (t *Tile) instruction(name string, f func(float64) float64) *Tile {
	return t.each(`tt.elementwise_inline_asm "`+name+`.approx.ftz.f32 $0, $1;" {constraints = "=r,r", packed_element = 1 : i32, pure = true}`, " -> "+t.ir(), f)
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
