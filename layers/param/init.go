package param

import (
	"math"
	"math/rand/v2"
)

// Init fills an array with initial values.
type Init func(rng *rand.Rand, out []float64)

// Constant fills with one value.
func Constant(value float64) Init {
	return func(_ *rand.Rand, out []float64) {
		for i := range out {
			out[i] = value
		}
	}
}

// Uniform draws from [lo, hi).
func Uniform(lo, hi float64) Init {
	return func(rng *rand.Rand, out []float64) {
		for i := range out {
			out[i] = lo + (hi-lo)*rng.Float64()
		}
	}
}

// Normal draws from N(0, std²).
func Normal(std float64) Init {
	return func(rng *rand.Rand, out []float64) {
		for i := range out {
			out[i] = std * rng.NormFloat64()
		}
	}
}

// Torch is PyTorch's default for linear layers and convolutions with the given
// fan-in: uniform within 1/√in.
func Torch(in int) Init {
	b := 1 / math.Sqrt(float64(in))
	return Uniform(-b, b)
}

// LogUniformA draws A uniform in [lo, hi) and stores ln A, as the decays of
// Mamba-2 and its descendants do.
func LogUniformA(lo, hi float64) Init {
	return func(rng *rand.Rand, out []float64) {
		Uniform(lo, hi)(rng, out)
		for i := range out {
			out[i] = math.Log(out[i])
		}
	}
}

// StepSize draws a time step log-uniform in [lo, hi), at least 1e-4, and
// stores the number whose softplus it is.
func StepSize(lo, hi float64) Init {
	return func(rng *rand.Rand, out []float64) {
		for i := range out {
			dt := max(math.Exp(math.Log(lo)+rng.Float64()*math.Log(hi/lo)), 1e-4)
			out[i] = dt + math.Log(-math.Expm1(-dt))
		}
	}
}

// Identity is the n x n identity matrix.
func Identity(n int) Init {
	return func(_ *rand.Rand, out []float64) {
		for i := range n {
			out[i*n+i] = 1
		}
	}
}

// Xavier is uniform within gain √(6/(in+out)).
func Xavier(gain float64, in, out int) Init {
	b := gain * math.Sqrt(6/float64(in+out))
	return Uniform(-b, b)
}

// Scaled multiplies what another rule fills in.
func Scaled(factor float64, init Init) Init {
	return func(rng *rand.Rand, out []float64) {
		init(rng, out)
		for i := range out {
			out[i] *= factor
		}
	}
}
