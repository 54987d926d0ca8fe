package mixer

import (
	"github.com/kalmarz/kalmarz/layers/attention"
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

// attentionForm is Plan for softmax attention, which has neither tokens to loop over
// nor chunks: a recurrence pinned to one of these pins it to the graph form.
func attentionForm(f delta.Form) attention.Form {
	return attention.Form{Kernel: f.Kernel, AllPairs: f.Recurrent || f.Chunk > 0}
}
