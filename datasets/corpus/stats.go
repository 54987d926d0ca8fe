package corpus

import (
	"compress/gzip"
	"math"
)

// Stats describe a corpus as bytes. A model of bytes must do better than H1, and
// a good one than gzip.
type Stats struct {
	Files, Documents int
	Bytes            int64
	Distinct         int     // bytes that occur
	H0, H1           float64 // bits a byte, alone and after the one before it
	Gzip             float64 // bits a byte, at gzip's best level; 0 if not asked for
	Skipped          Skipped
}

// Measure reads a corpus through. Compression takes most of the time, and can be
// left out.
func Measure(c *Corpus, compress bool) (Stats, error) {
	s := Stats{Files: c.Files()}
	pairs := make([]int64, 256*256)
	before := -1
	var packed countingWriter
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return s, err
	}
	for piece, err := range c.Pieces() {
		if err != nil {
			return s, err
		}
		s.Bytes += int64(len(piece.Text))
		for _, x := range piece.Text {
			if before >= 0 {
				pairs[before<<8|int(x)]++
			}
			before = int(x)
		}
		if piece.Last {
			s.Documents++
		}
		if compress {
			if _, err := z.Write(piece.Text); err != nil {
				return s, err
			}
		}
	}
	if err := z.Close(); err != nil {
		return s, err
	}
	if compress {
		s.Gzip = 8 * float64(packed) / float64(s.Bytes)
	}
	single := make([]int64, 256)
	for pair, n := range pairs {
		single[pair>>8] += n
	}
	if before >= 0 {
		single[before]++
	}
	for _, n := range single {
		if n > 0 {
			s.Distinct++
		}
	}
	s.H0 = entropy(single)
	for first := range 256 {
		if after := pairs[first<<8 : first<<8+256]; single[first] > 0 {
			s.H1 += float64(single[first]) / float64(s.Bytes) * entropy(after)
		}
	}
	s.Skipped = c.Skipped()
	return s, nil
}

// entropy of a distribution given by counts, in bits.
func entropy(counts []int64) float64 {
	total := 0.0
	for _, n := range counts {
		total += float64(n)
	}
	h := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / total
			h -= p * math.Log2(p)
		}
	}
	return h
}

type countingWriter int64

func (w *countingWriter) Write(p []byte) (int, error) {
	*w += countingWriter(len(p))
	return len(p), nil
}
