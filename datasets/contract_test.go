package datasets

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

// settings opens every preset and every rung of the ladder of every kind; of
// those, only what is quickly swept if tests are to be short.
var settings = sync.OnceValue(func() map[string]Task {
	tasks := map[string]Task{}
	open := func(label string, k *Kind, given map[string]string) {
		task, err := Open(k.Name, given)
		if err != nil {
			panic(fmt.Sprintf("%s: %v", label, err))
		}
		if !testing.Short() || task.Info().T <= 128 {
			tasks[label] = task
		}
	}
	for _, k := range Registry {
		for _, p := range k.PresetNames() {
			if strings.HasPrefix(k.Presets[p]["corpus"], "hf:") {
				continue // a download
			}
			open(k.Name+"/"+p, k, map[string]string{"preset": p})
		}
		if testing.Short() {
			continue
		}
		for _, rung := range k.Ladder {
			given := map[string]string{"preset": "paper"}
			maps.Copy(given, rung)
			open(fmt.Sprint(k.Name, "/", rung), k, given)
		}
	}
	return tasks
})

func each(t *testing.T, check func(t *testing.T, task Task)) {
	tasks := settings()
	for _, label := range slices.Sorted(maps.Keys(tasks)) {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			check(t, tasks[label])
		})
	}
}

func batch(t testing.TB, task Task, split Split, seed uint64, index, rows int) Batch {
	t.Helper()
	b, err := task.Batch(split, seed, index, rows)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func evaluate(t testing.TB, task Task, b Batch, predictions []int32) Score {
	t.Helper()
	s, err := Evaluate(b, predictions, task.Info().Classes)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// All promises hold for every preset and every rung; the oracle is right on
// 1,000 rows of each.
func TestPromises(t *testing.T) {
	each(t, func(t *testing.T, task Task) {
		T := task.Info().T
		rows := map[string]int{"oracle": 1000, "scored": 300, "ids": 40, "layout": 100, "splits": 60, "chance": max(100, min(1000, 100_000/T))}
		if testing.Short() {
			rows["oracle"] = 100
		}
		for _, c := range checks {
			if _, err := c.run(task, rows[c.name]); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	})
}

// broken is a task with something wrong.
type broken struct {
	Task
	info   func(*Info)
	batch  func(split Split, seed uint64, b Batch)
	oracle func([]int32)
}

func (x broken) Info() Info {
	info := x.Task.Info()
	if x.info != nil {
		x.info(&info)
	}
	return info
}

func (x broken) Batch(split Split, seed uint64, index, rows int) (Batch, error) {
	b, err := x.Task.Batch(split, seed, index, rows)
	if x.batch != nil && err == nil {
		x.batch(split, seed, b)
	}
	return b, err
}

func (x broken) Oracle(b Batch) []int32 {
	answers := x.Task.Oracle(b)
	if x.oracle != nil {
		x.oracle(answers)
	}
	return answers
}

// Each check finds what it is there for.
func TestChecksFindFaults(t *testing.T) {
	calls := int32(0)
	for _, c := range []struct {
		check string
		task  broken
		want  string
	}{
		{"ids", broken{info: func(i *Info) { i.Vocab = 31 }}, "is not in [0, 31)"},
		{"ids", broken{info: func(i *Info) { i.Classes = 31 }}, "is not in [0, 31)"},
		{"ids", broken{batch: func(_ Split, _ uint64, b Batch) { clear(b.Mask); clear(b.Targets) }}, "row 0: 0 of 16 positions are scored"},
		{"ids", broken{batch: func(_ Split, _ uint64, b Batch) { b.Targets[0] = 3 }}, "row 0 at 0: mask 0, target 3"},
		{"oracle", broken{oracle: func(a []int32) { a[slices.IndexFunc(a, func(x int32) bool { return x > 0 })] = 0 }}, "must be 1"},
		{"scored", broken{info: func(i *Info) { i.Scored = 4.01 }}, "must be 4.0100"},
		{"determinism", broken{batch: func(_ Split, _ uint64, b Batch) { calls++; b.Inputs[0] = calls % 7 }}, "a batch made again differs"},
		{"determinism", broken{batch: func(_ Split, _ uint64, b Batch) { b.Targets[len(b.Targets)-1] = int32(b.Rows) }}, "rows depend on how they are grouped"},
		{"determinism", broken{batch: func(_ Split, _ uint64, b Batch) { clear(b.Inputs) }}, "make the same rows"},
		{"splits", broken{batch: func(_ Split, _ uint64, b Batch) { clear(b.Inputs[:b.T]) }}, "a row is in train and in validation"},
		{"chance", broken{info: func(i *Info) { i.Chance = 0.25 }}, "must be 0.25"},
	} {
		c.task.Task = open(t, "mqar", "")
		for _, check := range checks {
			if check.name != c.check {
				continue
			}
			if _, err := check.run(c.task, 500); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want %s", c.check, err, c.want)
			}
		}
	}
	for _, f := range Check(open(t, "mqar", ""), 100) {
		if f.Err != nil || f.Detail == "" {
			t.Errorf("%+v", f)
		}
	}
}

// Repeating the input scores what each rule gives it.
func TestCopyBaseline(t *testing.T) {
	for name, want := range map[string]float64{
		"mqar": 0, "mqar-kimi": 0, // a key is no value
		"recall": 0, "noisy-recall": 0, "fuzzy-recall": 0, "memorization": 0,
		"selective-copy": 0, "stack": 0,
		"compression": 1,
		"words":       (1 + 11.0/6) / 12, // right at first and wherever the product so far is 1
		"palindrome":  7.0 / 16 / 8,      // two neighbours are equal, but not at the bar
		"niah":        0.5 / 8,           // the second value repeats the first
		"parity":      (1 + 15.0/2) / 16, // right at first and wherever the count before is even
		"even-pairs":  0.5,
		"cycle-nav":   0, "mod-arithmetic": 0, "mod-arithmetic-brackets": 0,
	} {
		b := batch(t, open(t, name, ""), Test, 2, 0, 2000)
		if _, err := expect(b, b.Inputs, want); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBadRequests(t *testing.T) {
	task, err := Open("mqar", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		split       Split
		index, rows int
		want        string
	}{
		{3, 0, 1, "task mqar: split 3: must be train, validation or test"},
		{Train, -1, 1, "task mqar: batch index -1: must not be negative"},
		{Train, 0, 0, "task mqar: 0 rows of 16 positions: must be 1 to 67108864 rows"},
	} {
		if _, err := task.Batch(c.split, 0, c.index, c.rows); err == nil || err.Error() != c.want {
			t.Errorf("%v: error %v, want %s", c, err, c.want)
		}
	}
	for _, c := range []struct {
		factor int
		mode   string
		want   string
	}{
		{2, "x", `task mqar: length mode "x": known are fixedK, scaledK`},
		{0, "fixedK", "task mqar: 0 times its length: must be at least 1"},
		{8, "scaledK", "task mqar: pairs = 32: must be less than vocab/2 = 16 (scaledK at 8 times the length)"},
	} {
		if _, err := task.Longer(c.factor, c.mode); err == nil || err.Error() != c.want {
			t.Errorf("%v: error %v, want %s", c, err, c.want)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	for _, c := range []struct{ task, given, want string }{
		{"mqra", "", `unknown task "mqra": known are mqar`},
		{"mqar", "pair=3", `task mqar: unknown option "pair": known are vocab, len, pairs`},
		{"mqar", "preset=huge", "task mqar: preset = huge: known are quick, small, paper"},
		{"mqar", "pairs=8", "task mqar: pairs = 8: 4*pairs = 32 must be at most len = 16"},
		{"mqar", "vocab=33", "task mqar: vocab = 33: must be even"},
		{"mqar", "vocab=8", "task mqar: pairs = 4: must be less than vocab/2 = 4"},
		{"mqar", "len=17", "task mqar: len = 17: must be even"},
		{"mqar", "len=0", "task mqar: len = 0: must be a whole number in [4, 524288]"},
		{"mqar", "power=NaN", "task mqar: power = NaN: must be in [0, 10]"},
	} {
		_, err := Open(c.task, given(c.given))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s %s: error %v, want %s", c.task, c.given, err, c.want)
		}
	}
}

// given reads "a=1 b=2".
func given(text string) map[string]string {
	m := map[string]string{}
	for _, f := range strings.Fields(text) {
		key, value, _ := strings.Cut(f, "=")
		m[key] = value
	}
	return m
}
