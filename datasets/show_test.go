package datasets

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestShow(t *testing.T) {
	task := open(t, "mqar", "len=8 pairs=2 vocab=16 fill=zero")
	b := Batch{Rows: 1, T: 8,
		Inputs:  []int32{3, 9, 5, 12, 5, 0, 3, 0},
		Targets: []int32{0, 0, 0, 0, 12, 0, 9, 0},
		Mask:    []float32{0, 0, 0, 0, 1, 0, 1, 0},
	}
	if got, want := Show(task, b, 0, 80), "input   k3 v1 k5 v4 k5 - k3 -\ntarget              v4   v1\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got, want := Show(task, b, 0, 22), "input   k3 v1 k5 v4\ninput   k5 - k3 -\ntarget  v4   v1\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for _, k := range Registry {
		task := open(t, k.Name, "")
		text := Show(task, batch(t, task, Test, 0, 0, 1), 0, 100)
		for _, line := range strings.Split(text, "\n") {
			if len([]rune(line)) > 100 {
				t.Errorf("%s: a line of %d columns", k.Name, len(line))
			}
		}
		if testing.Verbose() {
			t.Logf("%s\n%s", k.Name, text)
		}
	}
}

func TestRegistry(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Registry {
		if seen[k.Name] || k.Name == "" || k.Doc == "" {
			t.Errorf("kind %q, doc %q", k.Name, k.Doc)
		}
		seen[k.Name] = true
		if names := k.PresetNames(); !slices.Equal(names[:3], []string{"quick", "small", "paper"}) {
			t.Errorf("%s: presets %v", k.Name, names)
		}
		for _, o := range k.Options {
			if o.Help == "" {
				t.Errorf("%s: option %s has no help", k.Name, o.Name)
			}
		}
		if info := open(t, k.Name, "").Info(); info.Name != k.Name || info.Chance < 0 || info.Chance > 1 || info.Scored <= 0 {
			t.Errorf("%s: %+v", k.Name, info)
		}
	}
}

// slow makes some batches late, and one fail.
type slow struct{ Task }

func (s slow) Batch(split Split, seed uint64, index, rows int) (Batch, error) {
	time.Sleep(time.Duration(index*7%5) * time.Millisecond)
	if index == 25 {
		return Batch{}, errors.New("no batch 25")
	}
	return s.Task.Batch(split, seed, index, rows)
}

func TestPrefetch(t *testing.T) {
	task := slow{open(t, "mqar", "")}
	for _, workers := range []int{0, 1, 3} {
		p := NewPrefetch(task, Train, 4, 10, 2, workers, 5)
		for index := 10; index < 25; index++ {
			b, err := p.Next()
			if err != nil || !b.equal(batch(t, task, Train, 4, index, 2)) {
				t.Errorf("%d workers: batch %d is not the one in order (%v)", workers, index, err)
			}
		}
		if _, err := p.Next(); err == nil || err.Error() != "no batch 25" {
			t.Errorf("error %v", err)
		}
		p.Close()
		p.Close()
	}
}
