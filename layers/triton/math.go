package triton

import (
	"math"
)

// binary is an operation on two numbers: its names for floats and integers.
type binary struct {
	verb    string
	ir, irI string
	f       func(a, b float32) float32
	i       func(a, b int32) int32
}

var (
	add = binary{"sum", "arith.addf", "arith.addi", func(a, b float32) float32 { return a + b }, func(a, b int32) int32 { return a + b }}
	sub = binary{"difference", "arith.subf", "arith.subi", func(a, b float32) float32 { return a - b }, func(a, b int32) int32 { return a - b }}
	mul = binary{"product", "arith.mulf", "arith.muli", func(a, b float32) float32 { return a * b }, func(a, b int32) int32 { return a * b }}
	div = binary{"quotient", "arith.divf", "arith.divsi", func(a, b float32) float32 { return a / b }, func(a, b int32) int32 { return a / b }}
	rem = binary{"remainder", "arith.remf", "arith.remsi", nil, func(a, b int32) int32 { return a % b }}
	top = binary{"maximum", "arith.maximumf", "arith.maxsi", func(a, b float32) float32 { return max(a, b) }, func(a, b int32) int32 { return max(a, b) }}
	low = binary{"minimum", "arith.minimumf", "arith.minsi", func(a, b float32) float32 { return min(a, b) }, func(a, b int32) int32 { return min(a, b) }}
	and = binary{"conjunction", "", "arith.andi", nil, func(a, b int32) int32 { return a & b }}
)

// Add returns t + x; as in all of these, x is a tile or a number.
func (t *Tile) Add(x any) *Tile { return t.apply(add, x) }

// Sub returns t - x.
func (t *Tile) Sub(x any) *Tile { return t.apply(sub, x) }

// Mul returns t x, element by element.
func (t *Tile) Mul(x any) *Tile { return t.apply(mul, x) }

// Div returns t / x, of integers the quotient towards zero.
func (t *Tile) Div(x any) *Tile { return t.apply(div, x) }

// Mod returns the remainder of Div, of integers only.
func (t *Tile) Mod(x any) *Tile { return t.apply(rem, x) }

// Max returns the larger of t and x, NaN if one of them is.
func (t *Tile) Max(x any) *Tile { return t.apply(top, x) }

// Min returns the smaller of t and x, NaN if one of them is.
func (t *Tile) Min(x any) *Tile { return t.apply(low, x) }

// And joins two masks.
func (t *Tile) And(x *Tile) *Tile { return t.apply(and, x) }

func (t *Tile) apply(op binary, x any) *Tile {
	k := t.k
	ab := k.together(op.verb, t, k.lift(x, t.dtype))
	a, b := ab[0], ab[1]
	name := op.irI
	if t.dtype.float() {
		name = op.ir
	}
	if a.dtype != b.dtype || a.dtype == BF16 || name == "" || a.dtype.float() && op.f == nil || a.dtype == I1 && op.verb != and.verb {
		k.fail("%s of %s and %s", op.verb, a.ir(), b.ir())
	}
	out := k.tile(a.dtype, a.dims...)
	return k.emit(out, func(m *machine) error {
		if a.dtype.float() {
			y, p, q := m.floats(out), m.floats(a), m.floats(b)
			for i := range y {
				y[i] = op.f(p[i], q[i])
			}
			return nil
		}
		y, p, q := m.ints(out), m.ints(a), m.ints(b)
		for i := range y {
			y[i] = op.i(p[i], q[i])
		}
		return nil
	}, "%s %s, %s : %s", name, a.name(), b.name(), out.ir())
}

// Neg returns -t.
func (t *Tile) Neg() *Tile { return t.k.lift(0, t.dtype).Sub(t) }

// Exp returns eᵗ.
func (t *Tile) Exp() *Tile { return t.function("math.exp", math.Exp) }

// Sqrt returns √t.
func (t *Tile) Sqrt() *Tile { return t.function("math.sqrt", math.Sqrt) }

// Log returns ln t.
func (t *Tile) Log() *Tile { return t.function("math.log", math.Log) }

// Abs returns |t|.
func (t *Tile) Abs() *Tile { return t.function("math.absf", math.Abs) }

// Floor returns the largest whole number that is at most t.
func (t *Tile) Floor() *Tile { return t.function("math.floor", math.Floor) }

func (t *Tile) function(name string, f func(float64) float64) *Tile { return t.each(name, "", f) }

// each applies f to every number; the operation's type ends as it says.
func (t *Tile) each(name, end string, f func(float64) float64) *Tile {
	if t.dtype != F32 {
		t.k.fail("%s of %s", name, t.ir())
	}
	out := t.k.tile(F32, t.dims...)
	return t.k.emit(out, func(m *machine) error {
		y := m.floats(out)
		for i, x := range m.floats(t) {
			y[i] = float32(f(float64(x)))
		}
		return nil
	}, "%s %s : %s%s", name, t.name(), out.ir(), end)
}

// Less tells where t < x, of integers.
func (t *Tile) Less(x any) *Tile {
	return t.compare("slt", x, func(a, b int32) bool { return a < b })
}

// AtLeast tells where t >= x, of integers.
func (t *Tile) AtLeast(x any) *Tile {
	return t.compare("sge", x, func(a, b int32) bool { return a >= b })
}

// Equal tells where t = x, of integers.
func (t *Tile) Equal(x any) *Tile {
	return t.compare("eq", x, func(a, b int32) bool { return a == b })
}

// Differs tells where t ≠ x, of integers.
func (t *Tile) Differs(x any) *Tile {
	return t.compare("ne", x, func(a, b int32) bool { return a != b })
}

func (t *Tile) compare(predicate string, x any, f func(a, b int32) bool) *Tile {
	ab := t.k.together("comparison", t, t.k.lift(x, t.dtype))
	a, b := ab[0], ab[1]
	if a.dtype != I32 || b.dtype != I32 {
		t.k.fail("comparison of %s and %s", a.ir(), b.ir())
	}
	out := t.k.tile(I1, a.dims...)
	return t.k.emit(out, func(m *machine) error {
		y, p, q := m.ints(out), m.ints(a), m.ints(b)
		for i := range y {
			y[i] = 0
			if f(p[i], q[i]) {
				y[i] = 1
			}
		}
		return nil
	}, "arith.cmpi %s, %s, %s : %s", predicate, a.name(), b.name(), a.ir())
}

// Where picks from a where the mask holds and from b elsewhere; a or b may be a
// number.
func (t *Tile) Where(a *Tile, b any) *Tile {
	xs := t.k.together("choice", t, a, t.k.lift(b, a.dtype))
	if t.dtype != I1 || xs[1].dtype != xs[2].dtype {
		t.k.fail("choice by %s of %s and %s", t.ir(), xs[1].ir(), xs[2].ir())
	}
	mask, a, other := xs[0], xs[1], xs[2]
	out := t.k.tile(a.dtype, mask.dims...)
	return t.k.emit(out, func(m *machine) error {
		for i, yes := range m.ints(mask) {
			from := other
			if yes != 0 {
				from = a
			}
			if a.dtype.float() {
				m.floats(out)[i] = m.floats(from)[i]
			} else {
				m.ints(out)[i] = m.ints(from)[i]
			}
		}
		return nil
	}, "arith.select %s, %s, %s : %s, %s", mask.name(), a.name(), other.name(), mask.ir(), out.ir())
}

// To converts between F32 and BF16, to the nearest, and from I32 to F32.
func (t *Tile) To(dtype DType) *Tile {
	if t.dtype == dtype {
		return t
	}
	var name string
	switch {
	case t.dtype == F32 && dtype == BF16:
		name = "arith.truncf"
	case t.dtype == BF16 && dtype == F32:
		name = "arith.extf"
	case t.dtype == I32 && dtype == F32:
		name = "arith.sitofp"
	default:
		t.k.fail("conversion of %s to %s", t.ir(), dtype)
	}
	out := t.k.tile(dtype, t.dims...)
	return t.k.emit(out, func(m *machine) error {
		y := m.floats(out)
		if t.dtype == I32 {
			for i, x := range m.ints(t) {
				y[i] = float32(x)
			}
			return nil
		}
		for i, x := range m.floats(t) {
			y[i] = dtype.round(x)
		}
		return nil
	}, "%s %s : %s to %s", name, t.name(), t.ir(), out.ir())
}
