//go:build goexperiment.simd

package backend

// SIMD says whether the program was built with GOEXPERIMENT=simd, which makes
// pure Go about six times faster.
const SIMD = true
