package mixer

import (
	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/scan"
)

// Plan returns the plan by which scans of T tokens run where the matrix
// recurrence has the given form: one loop over tokens, chunks of that length side
// by side, fused kernels, or whatever fits.
func Plan(f delta.Form, T int) scan.Plan {
	switch {
	case f.Kernel:
		return scan.Plan{Kernel: true}
	case f.Recurrent:
		return scan.Plan{Chunks: 1}
	case f.Chunk > 0:
		return scan.Plan{Chunks: max(1, T/f.Chunk)}
	}
	return scan.Plan{}
}
