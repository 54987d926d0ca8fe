package datasets

import (
	"math"
	"slices"
	"testing"
)

// scoredPerRow returns the mean, the least and the most scored positions.
func scoredPerRow(b Batch) (mean float64, least, most int) {
	least = b.T
	for row := range b.Rows {
		_, _, mask := b.Row(row)
		n := 0
		for _, m := range mask {
			n += int(m)
		}
		mean += float64(n) / float64(b.Rows)
		least, most = min(least, n), max(most, n)
	}
	return mean, least, most
}

// Means measured on an independent implementation, 400 rows each.
func TestScoredPositions(t *testing.T) {
	for _, c := range []struct {
		task, options string
		T             int
		mean, margin  float64
		least         int
	}{
		{"recall", "preset=paper", 127, 56.0, 0.05, 56},
		{"recall", "preset=paper vocab=128", 127, 23.8, 0.4, 1},
		{"recall", "preset=paper single=true", 128, 1, 1e-9, 1},
		{"noisy-recall", "preset=paper", 127, 43.5, 0.5, 1},
		{"noisy-recall", "preset=paper frac=0.8", 127, 7.7, 0.5, 1},
		{"fuzzy-recall", "preset=paper", 128, 4.5, 0.3, 1},
		{"fuzzy-recall", "preset=paper vocab=32", 128, 2.1, 0.2, 1},
		{"stack", "preset=kimi-256", 255, 16.4, 0.3, 1},
		{"stack", "preset=paper", 1023, 113, 1.5, 1},
	} {
		b := batch(t, open(t, c.task, c.options), Test, 0, 0, 1000)
		mean, least, _ := scoredPerRow(b)
		if b.T != c.T || math.Abs(mean-c.mean) > c.margin || least < c.least {
			t.Errorf("%s %s: T = %d, mean %.2f, least %d: want %d, %.2f +- %.2f, at least %d", c.task, c.options, b.T, mean, least, c.T, c.mean, c.margin, c.least)
		}
	}
}

func TestFuzzyMotifs(t *testing.T) {
	task := open(t, "fuzzy-recall", "preset=paper")
	for _, split := range []Split{Train, Test} {
		b := batch(t, task, split, 0, 0, 300)
		sizes := map[int]int{}
		for row := range b.Rows {
			in, _, _ := b.Row(row)
			padding, run := true, 0
			for i, x := range in {
				if x != 15 {
					padding = false
				} else if !padding {
					t.Fatalf("row %d: padding at %d, inside", row, i)
				}
				if x < 7 {
					run++
					continue
				}
				if run > 0 {
					if !distinct(in[i-run : i]) {
						t.Fatalf("row %d: key %v repeats an id", row, in[i-run:i])
					}
					sizes[run]++
				}
				run = 0
			}
		}
		want := []int{3}
		if split == Train {
			want = []int{1, 2, 3}
		}
		for _, n := range want {
			if sizes[n] == 0 {
				t.Errorf("%s: no key of %d tokens", split, n)
			}
			delete(sizes, n)
		}
		if len(sizes) > 0 {
			t.Errorf("%s: keys of other sizes: %v", split, sizes)
		}
	}
}

func distinct(ids []int32) bool {
	sorted := slices.Sorted(slices.Values(ids))
	return len(slices.Compact(sorted)) == len(ids)
}

// One map for all splits and seeds, one to one, from keys to values.
func TestMemorizationMap(t *testing.T) {
	task := open(t, "memorization", "preset=paper")
	value := map[int32]int32{}
	for _, split := range Splits {
		for seed := range uint64(3) {
			b := batch(t, task, split, seed, 0, 256)
			for i, m := range b.Mask {
				if m == 0 {
					continue
				}
				k := b.Inputs[i-1]
				if old, ok := value[k]; ok && old != b.Targets[i] || k >= 127 || b.Targets[i] < 127 || b.Inputs[i] != 255 {
					t.Fatalf("key %d: value %d, then %d", k, old, b.Targets[i])
				}
				value[k] = b.Targets[i]
			}
		}
	}
	values := map[int32]bool{}
	for _, v := range value {
		values[v] = true
	}
	if len(value) != 127 || len(values) != 127 {
		t.Errorf("%d keys, %d values, want 127", len(value), len(values))
	}
}

// A paper's score of a task is a mean over so many settings.
func TestLadders(t *testing.T) {
	for name, want := range map[string]int{"recall": 11, "noisy-recall": 14, "fuzzy-recall": 11, "selective-copy": 13, "compression": 11, "memorization": 6} {
		k, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := 1 + len(k.Ladder); got != want {
			t.Errorf("%s: %d settings, want %d", name, got, want)
		}
	}
}

// An epoch shows every row of a pool once, in an order that changes; another
// pool size is another set.
func TestPools(t *testing.T) {
	task := open(t, "recall", "train=96 test=40 len=64")
	epoch := func(split Split, n, i int) []string {
		b := batch(t, task, split, 5, i, n)
		keys := make([]string, n)
		for row := range n {
			in, _, _ := b.Row(row)
			keys[row] = idsKey(in)
		}
		return keys
	}
	first, second := epoch(Train, 96, 0), epoch(Train, 96, 1)
	if slices.Equal(first, second) {
		t.Error("two epochs come in the same order")
	}
	slices.Sort(first)
	slices.Sort(second)
	if !slices.Equal(first, second) || len(slices.Compact(first)) != 96 {
		t.Error("two epochs do not show the same 96 rows")
	}
	if !slices.Equal(epoch(Test, 40, 0), epoch(Test, 40, 1)) {
		t.Error("the test pool changes")
	}
}

func TestPermute(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 7, 64, 1000, 12800} {
		seen := make([]bool, n)
		for x := range n {
			y := permute(x, n, 99)
			if y >= n || seen[y] {
				t.Fatalf("permute(%d, %d) = %d: out of range or met before", x, n, y)
			}
			seen[y] = true
		}
	}
}
