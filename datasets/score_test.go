package datasets

import (
	"math"
	"testing"
)

// Six scored positions of classes 0 0 0 0 1 2 in three rows, of which 0 0 0 1 are
// right; a fourth row has none.
func TestScore(t *testing.T) {
	b := Batch{Rows: 4, T: 3,
		Inputs:  make([]int32, 12),
		Targets: []int32{0, 0, 0, 0, 1, 0, 2, 0, 0, 1, 1, 1},
		Mask:    []float32{1, 1, 0, 1, 1, 0, 1, 1, 0, 0, 0, 0},
	}
	answers := []int32{0, 0, 3, 1, 1, 3, 0, 0, 3, 3, 3, 3}
	want := Score{Micro: 4.0 / 6, Macro: (0.75 + 1 + 0) / 3, Exact: 1.0 / 3, PerRow: (1 + 0.5 + 0.5) / 3, Scored: 6, Rows: 3}
	check := func(s Score) {
		t.Helper()
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }
		if !near(s.Micro, want.Micro) || !near(s.Macro, want.Macro) || !near(s.Exact, want.Exact) || !near(s.PerRow, want.PerRow) ||
			s.Scored != want.Scored || s.Rows != want.Rows || s.PerClass[0] != 0.75 || s.PerClass[2] != 0 || s.PerClass[3] != -1 {
			t.Errorf("%+v, want %+v", s, want)
		}
	}
	s, err := Evaluate(b, answers, 4)
	if err != nil {
		t.Fatal(err)
	}
	check(s)

	tally := NewTally(4)
	for i := range b.Rows {
		in, target, mask := b.Targets[i*3:i*3+3], b.Targets[i*3:i*3+3], b.Mask[i*3:i*3+3]
		if err := tally.Add(Batch{Rows: 1, T: 3, Inputs: in, Targets: target, Mask: mask}, answers[i*3:i*3+3]); err != nil {
			t.Fatal(err)
		}
	}
	check(tally.Score())

	if s := NewTally(2).Score(); s.Micro != 0 || s.Rows != 0 {
		t.Errorf("nothing scored: %+v", s)
	}
	if err := tally.Add(b, answers[:5]); err == nil || err.Error() != "score: 5 predictions: must be rows x T = 4 x 3" {
		t.Errorf("error %v", err)
	}
	if _, err := Evaluate(b, answers, 2); err == nil || err.Error() != "score: target 2 of row 2 at 0: must be in [0, 2)" {
		t.Errorf("error %v", err)
	}
}
