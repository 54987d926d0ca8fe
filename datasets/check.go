package datasets

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Finding is the outcome of one check of a task.
type Finding struct {
	Name, Detail string
	Err          error // nil if it holds
}

// Check makes rows of a task and verifies what every task promises.
func Check(t Task, rows int) []Finding {
	findings := make([]Finding, len(checks))
	for i, c := range checks {
		detail, err := c.run(t, rows)
		findings[i] = Finding{c.name, detail, err}
	}
	return findings
}

var checks = []struct {
	name string
	run  func(t Task, rows int) (detail string, err error)
}{
	{"ids", checkIDs},
	{"layout", checkLayout},
	{"oracle", checkOracle},
	{"scored", checkScored},
	{"determinism", checkDeterminism},
	{"splits", checkSplits},
	{"chance", checkChance},
}

// checkIDs: ids are in range, masks are 0 or 1, targets that are not scored are
// 0, every row is scored, and an unmasked training row everywhere.
func checkIDs(t Task, rows int) (string, error) {
	info := t.Info()
	for _, split := range Splits {
		b, err := t.Batch(split, 1, 0, rows)
		if err != nil {
			return "", err
		}
		for row := range b.Rows {
			in, target, mask := b.Row(row)
			scored := 0
			for i, m := range mask {
				switch {
				case in[i] < 0 || int(in[i]) >= info.Vocab:
					return "", fmt.Errorf("%s row %d at %d: input %d is not in [0, %d)", split, row, i, in[i], info.Vocab)
				case target[i] < 0 || int(target[i]) >= info.Classes:
					return "", fmt.Errorf("%s row %d at %d: target %d is not in [0, %d)", split, row, i, target[i], info.Classes)
				case m != 0 && m != 1, m == 0 && target[i] != 0:
					return "", fmt.Errorf("%s row %d at %d: mask %g, target %d", split, row, i, m, target[i])
				}
				scored += int(m)
			}
			if scored == 0 || split == Train && info.Unmasked && scored < b.T {
				return "", fmt.Errorf("%s row %d: %d of %d positions are scored", split, row, scored, b.T)
			}
		}
	}
	return fmt.Sprintf("%d inputs, %d classes", info.Vocab, info.Classes), nil
}

// checkOracle: the program that knows the rule is right at every scored position.
func checkOracle(t Task, rows int) (string, error) {
	info := t.Info()
	for _, split := range Splits {
		if split == Train && info.Unmasked {
			continue
		}
		n := rows
		if split != Test {
			n = max(1, rows/20)
		}
		b, err := t.Batch(split, 1, 0, n)
		if err != nil {
			return "", err
		}
		answers := t.Oracle(b)
		if answers == nil {
			return "a language: no rule", nil
		}
		s, err := Evaluate(b, answers, info.Classes)
		if err != nil {
			return "", err
		}
		if s.Micro != 1 || s.Macro != 1 || s.Exact != 1 {
			return "", fmt.Errorf("%s: micro %g, macro %g, exact %g on %d rows: must be 1", split, s.Micro, s.Macro, s.Exact, n)
		}
	}
	return fmt.Sprintf("1 on %d rows", rows), nil
}

// checkScored: a test row has as many scored positions as announced, to three
// standard errors. Where all rows have as many, an event of size 1 may still be
// as frequent as 3 in rows.
func checkScored(t Task, rows int) (string, error) {
	info := t.Info()
	b, err := t.Batch(Test, 1, 0, rows)
	if err != nil || info.Mixed {
		return mixedDetail, err
	}
	sum, squares := 0.0, 0.0
	for row := range b.Rows {
		_, _, mask := b.Row(row)
		n := 0.0
		for _, m := range mask {
			n += float64(m)
		}
		sum += n
		squares += n * n
	}
	n := float64(rows)
	mean := sum / n
	sigma := math.Sqrt(max(squares/n-mean*mean, 1/n))
	if info.Name == "fuzzy-recall" {
		sigma *= math.Sqrt(1 + n/measuredRows) // announced is an estimate itself
	}
	if margin := 3 * sigma / math.Sqrt(n); math.Abs(mean-info.Scored) > margin {
		return "", fmt.Errorf("%.4f positions of a test row are scored: must be %.4f +- %.4f", mean, info.Scored, margin)
	}
	return fmt.Sprintf("%.2f of %d positions", mean, info.T), nil
}

const mixedDetail = "batches differ: not compared"

// checkDeterminism: a batch can be made again, alone and in other groupings, and
// another seed makes another.
func checkDeterminism(t Task, _ int) (string, error) {
	info := t.Info()
	for _, split := range Splits {
		b, err := t.Batch(split, 7, 3, 4)
		again, err2 := t.Batch(split, 7, 3, 4)
		half, err3 := t.Batch(split, 7, 7, 2)
		other, err4 := t.Batch(split, 8, 3, 4)
		if err := errors.Join(err, err2, err3, err4); err != nil {
			return "", err
		}
		n := 2 * b.T
		switch {
		case !b.equal(again):
			return "", fmt.Errorf("%s: a batch made again differs", split)
		case !info.Mixed && (!slices.Equal(b.Inputs[n:], half.Inputs) || !slices.Equal(b.Targets[n:], half.Targets)):
			return "", fmt.Errorf("%s: rows depend on how they are grouped", split)
		case slices.Equal(b.Inputs, other.Inputs) && (t.Oracle(b) != nil || split == Train):
			// A text has one order of windows outside training.
			return "", fmt.Errorf("%s: seeds 7 and 8 make the same rows", split)
		}
	}
	return "the same bytes again", nil
}

func (b Batch) equal(c Batch) bool {
	return slices.Equal(b.Inputs, c.Inputs) && slices.Equal(b.Targets, c.Targets) && slices.Equal(b.Mask, c.Mask)
}

// checkSplits: no row of one split occurs in another, whatever the seeds.
func checkSplits(t Task, rows int) (string, error) {
	where := map[string]Split{}
	for _, split := range Splits {
		for seed := range uint64(2) {
			b, err := t.Batch(split, seed, 0, rows)
			if err != nil {
				return "", err
			}
			for row := range b.Rows {
				in, _, _ := b.Row(row)
				key := idsKey(in)
				if other, seen := where[key]; seen && other != split {
					return "", fmt.Errorf("a row is in %s and in %s; it starts with %v", other, split, in[:min(16, len(in))])
				}
				where[key] = split
			}
		}
	}
	return fmt.Sprintf("%d different rows, none in two splits", len(where)), nil
}
