package triton

import "math"

// round brings a number to the precision of a type.
func (d DType) round(x float32) float32 {
	if d == BF16 {
		return roundBF16(x)
	}
	return x
}

// roundBF16 rounds to 8 bits of mantissa, ties to even.
func roundBF16(x float32) float32 {
	if x != x {
		return x
	}
	b := math.Float32bits(x)
	return math.Float32frombits((b + 0x7fff + b>>16&1) &^ 0xffff)
}

// cutTF32 drops all but 11 bits of mantissa, as matrix units do when they read a
// float32 operand.
func cutTF32(x float32) float32 {
	return math.Float32frombits(math.Float32bits(x) &^ 0x1fff)
}

func fill[T any](x []T, v T) {
	for i := range x {
		x[i] = v
	}
}
