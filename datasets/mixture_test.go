package datasets

import (
	"fmt"
	"slices"
	"testing"
)

// Cells come as often as their weight says, every batch of a cell is a new one,
// and the oracle knows each.
func TestMixture(t *testing.T) {
	task := open(t, "mqar-mix", "preset=paper")
	for split, want := range map[Split]map[string]int{
		Train: {"64/4": 10, "128/8": 2, "256/16": 2, "256/32": 2, "256/64": 2},
		Test:  {"64/4": 2, "64/8": 2, "64/16": 2, "128/32": 2, "256/64": 2, "512/128": 2, "1024/256": 2},
	} {
		rounds := 0
		for _, n := range want {
			rounds += n
		}
		got := map[string]int{}
		rows := map[string]bool{}
		detail := task.Details()[0]
		for index := range rounds {
			b := batch(t, task, split, 1, index, 2)
			got[cellOf(b)]++
			for row := range b.Rows {
				in, _, _ := b.Row(row)
				rows[idsKey(in)] = true
			}
			if s := evaluate(t, task, b, task.Oracle(b)); s.Exact != 1 {
				t.Errorf("%s batch %d: oracle %+v", split, index, s)
			}
			if bin := detail.Bin(b)[0]; detail.Bins[bin] != cellOf(b) {
				t.Errorf("%s batch %d: bin %d is not %s", split, index, bin, cellOf(b))
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || len(rows) != 2*rounds {
			t.Errorf("%s: %v, %d rows: want %v, %d", split, got, len(rows), want, 2*rounds)
		}
	}
	for options, want := range map[string]string{
		"train=16":     `task mqar-mix: train = 16: "16" must be len/pairs or len/pairs*weight`,
		"test=16/4,x":  `task mqar-mix: test = 16/4,x: "x" must be len/pairs or len/pairs*weight`,
		"train=16/8":   `task mqar-mix: train cell "16/8": task mqar: pairs = 8: 4*pairs = 32 must be at most len = 16`,
		"train=16/0":   `task mqar-mix: train = 16/0: len of "16/0" must be at least 4, pairs at least 1`,
		"test=16/4*-1": `task mqar-mix: test = 16/4*-1: "16/4*-1" must be len/pairs or len/pairs*weight`,
	} {
		if _, err := Open("mqar-mix", given(options)); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if slices.Contains(task.Lengths(), "len") {
		t.Error("a mixture has no longer form")
	}
	if _, err := task.Longer(2, "len"); err == nil || err.Error() != "task mqar-mix: it has no longer form" {
		t.Errorf("error %v", err)
	}
}
