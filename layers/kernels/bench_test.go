package kernels

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
)

// What a graph waits for before its compiler begins: one delta rule's kernels,
// forward and backward, as operations and as text.
func BenchmarkDeltaText(b *testing.B) {
	for b.Loop() {
		d, err := NewDelta(16, 2048, 16, 128, 128, dtypes.BFloat16, Parts{Erases: true, Rated: true, Decays: true})
		if err != nil {
			b.Fatal(err)
		}
		for _, f := range []*Function{d.Forward(), d.Backward(true)} {
			if f.text(f.reader) == "" {
				b.Fatal("no text")
			}
		}
	}
}

// The same of a filter.
func BenchmarkKalmanText(b *testing.B) {
	for b.Loop() {
		f, err := NewKalman(8, 2048, 1024, 16, 0, dtypes.Float32, Kalman{Variance: true}, false)
		if err != nil {
			b.Fatal(err)
		}
		for _, f := range []*Function{f.Forward(), f.Backward()} {
			if f.text(f.reader) == "" {
				b.Fatal("no text")
			}
		}
	}
}
