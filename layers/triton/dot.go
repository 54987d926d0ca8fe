package triton

import "slices"

// Precision says how a product of float32 tiles is computed.
type Precision string

const (
	IEEE   Precision = "ieee"   // full float32, without matrix units
	TF32   Precision = "tf32"   // operands cut to 11 bits of mantissa
	TF32x3 Precision = "tf32x3" // three such products; about 21 bits
)

// Dot returns a b for a [m,k], b [k,n], summed in float32, or a product for each of
// p pairs, a [p,m,k], b [p,k,n]. Tiles of BF16 are multiplied exactly; the precision
// is that of F32.
func Dot(a, b *Tile, precision Precision) *Tile {
	return DotAdd(nil, a, b, precision)
}

// DotAdd returns acc + a b; acc is F32 in the product's shape, or nil for zeros.
func DotAdd(acc, a, b *Tile, precision Precision) *Tile {
	k, rank := a.k, len(a.dims)
	pairs := 1
	fits := (rank == 2 || rank == 3) && len(b.dims) == rank && a.dtype == b.dtype && a.dtype.float()
	if fits && rank == 3 {
		pairs = a.dims[0]
		fits = b.dims[0] == pairs
	}
	if !fits || a.dims[rank-1] != b.dims[rank-2] {
		k.fail("matrix product of %s and %s", a.ir(), b.ir())
	}
	M, K, N := a.dims[rank-2], a.dims[rank-1], b.dims[rank-1]
	if min(M, K, N) < 16 {
		k.fail("matrix product of %s and %s: no dimension may be less than 16", a.ir(), b.ir())
	}
	dims := append(slices.Clone(a.dims[:rank-1]), N)
	if acc == nil {
		acc = k.Full(F32, 0, dims...)
	}
	if acc.dtype != F32 || !slices.Equal(acc.dims, dims) {
		k.fail("matrix product of %s and %s added to %s", a.ir(), b.ir(), acc.ir())
	}
	out := k.tile(F32, dims...)
	mode := ""
	if a.dtype == F32 && precision != IEEE {
		mode = ", inputPrecision = " + string(precision)
	}
	return k.emit(out, func(m *machine) error {
		y := m.floats(out)
		copy(y, m.floats(acc))
		x, w := m.floats(a), m.floats(b)
		all := func(x, w []float32) {
			for i := range pairs {
				product(y[i*M*N:], x[i*M*K:], w[i*K*N:], M, K, N)
			}
		}
		switch {
		case a.dtype == BF16 || precision == IEEE:
			all(x, w)
		case precision == TF32:
			all(mapped(x, cutTF32), mapped(w, cutTF32))
		default:
			rest := func(x float32) float32 { return cutTF32(x - cutTF32(x)) }
			all(mapped(x, rest), mapped(w, cutTF32))
			all(mapped(x, cutTF32), mapped(w, rest))
			all(mapped(x, cutTF32), mapped(w, cutTF32))
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
