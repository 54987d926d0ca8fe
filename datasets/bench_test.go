package datasets

import "testing"

// Positions per second of every kind's training rows, on one core.
func BenchmarkBatch(b *testing.B) {
	for _, k := range Registry {
		if k == textKind {
			continue // BenchmarkText
		}
		for _, preset := range []string{"quick", "paper"} {
			b.Run(k.Name+"/"+preset, func(b *testing.B) {
				task, err := Open(k.Name, map[string]string{"preset": preset})
				if err != nil {
					b.Fatal(err)
				}
				b.ResetTimer()
				n := 0
				for i := range b.N {
					batch, err := task.Batch(Train, 1, i, 64)
					if err != nil {
						b.Fatal(err)
					}
					n += len(batch.Inputs)
				}
				b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mtokens/s")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
