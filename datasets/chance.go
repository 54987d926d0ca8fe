package datasets

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// checkChance: the best guess that sees positions only, learned on other rows,
// reaches what is announced. It looks at training rows, where they are scored
// like the others, since they are most of the words of a small language.
func checkChance(t Task, rows int) (string, error) {
	info := t.Info()
	split := Train
	if info.Unmasked {
		split = Test
	}
	if pool := info.Pool[split]; pool > 0 {
		rows = min(rows, pool)
	}
	seen, err := t.Batch(split, 11, 0, rows)
	b, err2 := t.Batch(split, 12, 0, rows)
	if err := errors.Join(err, err2); err != nil || info.Mixed {
		return mixedDetail, err
	}
	micro, err := expect(b, slices.Repeat(frequent(seen), rows), info.Chance)
	return fmt.Sprintf("%.4f announced, %.4f reached", info.Chance, micro), err
}

// frequent is the most frequent target of each position. Positions seen a few
// times lean on what is frequent elsewhere.
func frequent(b Batch) []int32 {
	counts, all, scored := make([]map[int32]float64, b.T), map[int32]float64{}, 0.0
	for i, m := range b.Mask {
		if m == 0 {
			continue
		}
		if counts[i%b.T] == nil {
			counts[i%b.T] = map[int32]float64{}
		}
		counts[i%b.T][b.Targets[i]]++
		all[b.Targets[i]]++
		scored++
	}
	guess := make([]int32, b.T)
	classes := slices.Sorted(maps.Keys(all))
	for p, at := range counts {
		most := -1.0
		for _, c := range classes {
			if n := at[c] + 20*all[c]/scored; n > most {
				guess[p], most = c, n
			}
		}
	}
	return guess
}

// expect compares the micro accuracy of predictions with what theory says, to
// three standard errors. Rows are independent; positions of a row need not be.
func expect(b Batch, predictions []int32, want float64) (micro float64, err error) {
	scored, right, squares := 0.0, 0.0, 0.0
	for row := range b.Rows {
		_, target, mask := b.Row(row)
		n, hits := 0.0, 0.0
		for i, m := range mask {
			n += float64(m)
			if m != 0 && predictions[row*b.T+i] == target[i] {
				hits++
			}
		}
		scored += n
		right += hits
		squares += (hits - want*n) * (hits - want*n)
	}
	// Where hits are so rare that none may occur, they are at least independent.
	squares = max(squares, want*(1-want)*scored)
	micro = right / scored
	if margin := 3*math.Sqrt(squares)/scored + 1e-12; math.Abs(micro-want) > margin {
		err = fmt.Errorf("micro accuracy %.5f: must be %.5f +- %.5f", micro, want, margin)
	}
	return micro, err
}
