package datasets

import "fmt"

// Score is how well predictions answer scored positions. All but the counts
// are in [0, 1], and 0 if nothing was scored.
type Score struct {
	Micro  float64 // correct scored positions / scored positions
	Macro  float64 // mean over the classes that occur of each one's recall
	Exact  float64 // rows whose scored positions are all right / rows scored
	PerRow float64 // mean over rows of the row's accuracy
	Scored int     // scored positions
	Rows   int     // rows with at least one scored position
	// PerClass is the recall of each class, and -1 for a class that never
	// occurred as a target.
	PerClass []float64
}

// Tally adds up answers over batches.
type Tally struct {
	right, seen  []int // [classes]
	rows, exact  int
	rowAccuracys float64
}

// NewTally starts a count over targets in [0, classes).
func NewTally(classes int) *Tally {
	return &Tally{right: make([]int, classes), seen: make([]int, classes)}
}

// Add counts one batch. Predictions are [Rows*T]; those at positions that are
// not scored do not matter.
func (t *Tally) Add(b Batch, predictions []int32) error {
	if len(predictions) != b.Rows*b.T {
		return fmt.Errorf("score: %d predictions: must be rows x T = %d x %d", len(predictions), b.Rows, b.T)
	}
	for row := range b.Rows {
		_, targets, mask := b.Row(row)
		answers := predictions[row*b.T:]
		right, seen := 0, 0
		for i, target := range targets {
			if mask[i] == 0 {
				continue
			}
			if target < 0 || int(target) >= len(t.seen) {
				return fmt.Errorf("score: target %d of row %d at %d: must be in [0, %d)", target, row, i, len(t.seen))
			}
			seen++
			t.seen[target]++
			if answers[i] == target {
				right++
				t.right[target]++
			}
		}
		if seen == 0 {
			continue
		}
		t.rows++
		if right == seen {
			t.exact++
		}
		t.rowAccuracys += float64(right) / float64(seen)
	}
	return nil
}

// Score returns the accuracies of all that was added.
func (t *Tally) Score() Score {
	s := Score{Rows: t.rows, PerClass: make([]float64, len(t.seen))}
	right, classes := 0, 0
	for c, seen := range t.seen {
		s.PerClass[c] = -1
		if seen == 0 {
			continue
		}
		recall := float64(t.right[c]) / float64(seen)
		s.PerClass[c] = recall
		s.Macro += recall
		s.Scored += seen
		right += t.right[c]
		classes++
	}
	if s.Scored > 0 {
		s.Micro = float64(right) / float64(s.Scored)
		s.Macro /= float64(classes)
		s.Exact = float64(t.exact) / float64(t.rows)
		s.PerRow = t.rowAccuracys / float64(t.rows)
	}
	return s
}

// Evaluate scores one batch.
func Evaluate(b Batch, predictions []int32, classes int) (Score, error) {
	t := NewTally(classes)
	if err := t.Add(b, predictions); err != nil {
		return Score{}, err
	}
	return t.Score(), nil
}
