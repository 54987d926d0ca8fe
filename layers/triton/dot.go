package triton

// Precision says how a product of float32 tiles is computed.
type Precision string

const (
	IEEE   Precision = "ieee"   // full float32, without matrix units
	TF32   Precision = "tf32"   // operands cut to 11 bits of mantissa
	TF32x3 Precision = "tf32x3" // three such products; about 21 bits
)

// Dot returns a b for a [m,k], b [k,n], summed in float32. Tiles of BF16 are
// multiplied exactly; the precision is that of F32.
func Dot(a, b *Tile, precision Precision) *Tile {
	return DotAdd(nil, a, b, precision)
}

// DotAdd returns acc + a b; acc [m,n] is F32, or nil for zeros.
func DotAdd(acc, a, b *Tile, precision Precision) *Tile {
	k := a.k
	if len(a.dims) != 2 || len(b.dims) != 2 || a.dims[1] != b.dims[0] || a.dtype != b.dtype || !a.dtype.float() {
		k.fail("matrix product of %s and %s", a.ir(), b.ir())
	}
	M, K, N := a.dims[0], a.dims[1], b.dims[1]
	if min(M, K, N) < 16 {
		k.fail("matrix product of %s and %s: no dimension may be less than 16", a.ir(), b.ir())
	}
	if acc == nil {
		acc = k.Full(F32, 0, M, N)
	}
	if acc.dtype != F32 || len(acc.dims) != 2 || acc.dims[0] != M || acc.dims[1] != N {
		k.fail("matrix product of %s and %s added to %s", a.ir(), b.ir(), acc.ir())
	}
	out := k.tile(F32, M, N)
	mode := ""
	if a.dtype == F32 && precision != IEEE {
		mode = ", inputPrecision = " + string(precision)
	}
	return k.emit(out, func(m *machine) error {
		y := m.floats(out)
		copy(y, m.floats(acc))
		x, w := m.floats(a), m.floats(b)
		switch {
		case a.dtype == BF16 || precision == IEEE:
			product(y, x, w, M, K, N)
		case precision == TF32:
			product(y, mapped(x, cutTF32), mapped(w, cutTF32), M, K, N)
		default:
			rest := func(x float32) float32 { return cutTF32(x - cutTF32(x)) }
			product(y, mapped(x, rest), mapped(w, cutTF32), M, K, N)
			product(y, mapped(x, cutTF32), mapped(w, rest), M, K, N)
			product(y, mapped(x, cutTF32), mapped(w, cutTF32), M, K, N)
		}
		return nil
	}, "tt.dot %s, %s, %s%s : %s * %s -> %s", a.name(), b.name(), acc.name(), mode, a.ir(), b.ir(), out.ir())
}

func mapped(x []float32, f func(float32) float32) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = f(v)
	}
	return y
}

// product adds x w to y.
func product(y, x, w []float32, M, K, N int) {
	for r := range M {
		row := y[r*N : r*N+N]
		for i := range K {
			v := x[r*K+i]
			for c, u := range w[i*N : i*N+N] {
				row[c] += v * u
			}
		}
	}
}
