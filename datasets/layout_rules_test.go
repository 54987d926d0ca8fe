package datasets

import (
	"slices"
	"strings"
	"testing"
)

// A row with one thing moved breaks its task's layout.
func TestLayoutsFindFaults(t *testing.T) {
	swap := func(a, b int) func(in, target []int32, mask []float32) {
		return func(in, _ []int32, _ []float32) { in[a], in[b] = in[b], in[a] }
	}
	put := func(at int, id int32) func(in, target []int32, mask []float32) {
		return func(in, _ []int32, _ []float32) { in[at] = id }
	}
	wipe := func(_, _ []int32, mask []float32) { mask[slices.Index(mask, 1)] = 0 }
	for _, c := range []struct {
		task, options string
		change        func(in, target []int32, mask []float32)
		want          string
	}{
		{"mqar", "", swap(0, 1), "keys must be distinct and in [1, 16)"},
		{"mqar", "", func(in, _ []int32, _ []float32) { in[2] = in[0] }, "keys must be distinct"},
		{"mqar", "", func(in, _ []int32, _ []float32) { in[3] = in[1] }, "query"},
		{"mqar", "len=64", func(in, target []int32, mask []float32) {
			at := slices.Index(mask, 1)
			mask[at], mask[at+1], target[at], target[at+1], in[at+1] = 0, 1, 0, target[at], in[at]
		}, "at an even offset"},
		{"mqar", "", wipe, "4 different values, 3 queries: must be 4"},
		{"mqar-kimi", "", swap(15, 16), "with value"},
		{"mqar-kimi", "", put(20, 31), "there must be queries and nothing else"},
		{"recall", "", swap(0, 1), "must be"},
		{"recall", "", func(_, target []int32, mask []float32) { at := slices.Index(mask, 1); target[at]++ }, "must be a key seen before"},
		{"recall", "", func(_, _ []int32, mask []float32) { mask[len(mask)-1] = 0 }, "the last pair is not scored"},
		{"recall", "single=true", func(_, target []int32, mask []float32) { target[len(mask)-1]++ }, "must be a key seen before"},
		{"fuzzy-recall", "", put(47, 15), "padding must be at the start only"},
		{"selective-copy", "", swap(24, 25), "copy token at 24: must be at 25"},
		{"selective-copy", "", func(_, target []int32, _ []float32) { target[31] = 7 - target[31] }, "wants"},
		{"selective-copy", "", put(31, 1), "there must be blanks"},
		{"compression", "", swap(6, 7), "at its end only"},
		{"memorization", "", swap(0, 1), "must be a key"},
		{"memorization", "", func(in, target []int32, _ []float32) { in[2] = in[0]; target[3] = target[1] ^ 1 }, "must be a key"},
		{"stack", "", put(0, stackPop), "must"},
		{"stack", "", wipe, "must be scored if it is a pop"},
		{"palindrome", "bar=false", swap(7, 8), "with the bar in the middle only"},
		{"palindrome", "", wipe, "position 8, scored 0"},
		{"niah", "", func(in, _ []int32, _ []float32) { in[slices.Index(in, niahMark)] = 0 }, "must be one needle"},
		{"niah", "", func(_, target []int32, _ []float32) { target[47]-- }, "wants"},
		{"niah", "", wipe, "only what comes after the query"},
	} {
		task := open(t, c.task, c.options)
		whole := broken{Task: task, batch: func(_ Split, _ uint64, b Batch) {}}
		if _, err := checkLayout(whole, 20); err != nil {
			t.Errorf("%s %s: a good row: %v", c.task, c.options, err)
		}
		bad := broken{Task: task, batch: func(split Split, _ uint64, b Batch) {
			if split == Test {
				c.change(b.Row(0))
			}
		}}
		if _, err := checkLayout(bad, 20); err == nil || !strings.HasPrefix(err.Error(), "test row 0: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: error %v, want %s", c.task, c.options, err, c.want)
		}
	}
	language := broken{Task: open(t, "noisy-recall", ""), batch: func(split Split, _ uint64, b Batch) {
		if split == Train {
			b.Targets[3] = (b.Targets[3] + 1) % 8
		}
	}}
	if _, err := checkLayout(language, 5); err == nil || err.Error() != "train row 0: targets are not the next tokens" {
		t.Errorf("error %v", err)
	}
}
