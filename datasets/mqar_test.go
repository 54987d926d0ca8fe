package datasets

import (
	"math"
	"strings"
	"testing"
)

func open(t testing.TB, name, options string) Task {
	t.Helper()
	task, err := Open(name, given(options))
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// queries returns the mean position of the queries and the counts of slots.
func queries(t *testing.T, task Task, rows int) (mean, deviation float64, slots []int) {
	K := task.Info().Values.Int("pairs")
	b := batch(t, task, Test, 3, 0, rows)
	slots = make([]int, (b.T-2*K)/2)
	sum, squares := 0.0, 0.0
	for row := range b.Rows {
		in, target, mask := b.Row(row)
		value, asked := map[int32]int32{}, map[int32]bool{}
		values := map[int32]bool{}
		for i := range K {
			value[in[2*i]] = in[2*i+1]
			values[in[2*i+1]] = true
		}
		if len(value) != K || len(values) != K {
			t.Fatalf("row %d: %d keys, %d values, want %d", row, len(value), len(values), K)
		}
		rowSum := 0.0
		for i := range in {
			if mask[i] == 0 {
				continue
			}
			if i < 2*K || i%2 != 0 || asked[in[i]] || value[in[i]] != target[i] {
				t.Fatalf("row %d: query %d at %d has target %d", row, in[i], i, target[i])
			}
			asked[in[i]] = true
			slots[(i-2*K)/2]++
			rowSum += float64(i)
		}
		if len(asked) != K {
			t.Fatalf("row %d: %d keys asked for, want %d", row, len(asked), K)
		}
		rowSum /= float64(K)
		sum += rowSum
		squares += rowSum * rowSum
	}
	mean = sum / float64(rows)
	return mean, math.Sqrt(squares/float64(rows) - mean*mean), slots
}

func TestMQARLayout(t *testing.T) {
	for _, c := range []struct {
		options string
		mean    float64 // of query positions
	}{
		{"preset=zoology-64", 22.4},
		{"preset=zoology-512", 249.8},
		{"preset=zoology-64 fill=random", 22.4},
		{"len=16 pairs=4 vocab=32", 11}, // 4K = L: every slot is used
	} {
		const rows = 1000
		mean, sd, _ := queries(t, open(t, "mqar", c.options), rows)
		if margin := 3*sd/math.Sqrt(rows) + 0.05; math.Abs(mean-c.mean) > margin {
			t.Errorf("%s: mean query position %.2f, want %.2f +- %.2f", c.options, mean, c.mean, margin)
		}
	}
}

func TestMQARPowerOneIsUniform(t *testing.T) {
	const rows = 2000
	_, _, slots := queries(t, open(t, "mqar", "preset=small power=1 pairs=4"), rows)
	expected := float64(rows*4) / float64(len(slots))
	chi := 0.0
	for _, n := range slots {
		chi += (float64(n) - expected) * (float64(n) - expected) / expected
	}
	// A chi-square of n degrees of freedom has mean n and variance 2n; drawing
	// without replacement only lowers it.
	n := float64(len(slots) - 1)
	if chi > n+3*math.Sqrt(2*n) {
		t.Errorf("slots %v: chi-square %.1f of %g", slots, chi, n)
	}
}

// A filler equal to a context key gives it a second value, for a reader who
// takes what follows a key as its value.
func TestMQARFillers(t *testing.T) {
	for _, c := range []struct {
		options  string
		low, top float64 // share of rows where a filler equals a key
	}{
		{"preset=zoology-64 fill=random collide=true", 0.015, 0.035},
		{"preset=zoology-512 fill=random collide=true", 0.89, 0.95},
		{"preset=zoology-512 fill=random", 0, 0},
		{"preset=quick", 0, 0},
	} {
		if testing.Short() && strings.Contains(c.options, "512") {
			continue
		}
		task := open(t, "mqar", c.options)
		K := task.Info().Values.Int("pairs")
		b := batch(t, task, Test, 0, 0, 2000)
		hit := 0
		for row := range b.Rows {
			in, _, mask := b.Row(row)
			keys := map[int32]bool{}
			for i := range K {
				keys[in[2*i]] = true
			}
			for i := 2 * K; i < len(in); i++ {
				if mask[i] == 0 && keys[in[i]] {
					hit++
					break
				}
			}
		}
		if share := float64(hit) / 2000; share < c.low || share > c.top {
			t.Errorf("%s: %.3f of rows rebind a key, want %.3f to %.3f", c.options, share, c.low, c.top)
		}
	}
}

func TestMQARLonger(t *testing.T) {
	task := open(t, "mqar", "preset=small")
	for _, c := range []struct {
		mode   string
		scored float64
	}{{"fixedK", 4}, {"scaledK", 32}} {
		longer, err := task.Longer(8, c.mode)
		if err != nil {
			t.Fatal(err)
		}
		info := longer.Info()
		if info.T != 512 || info.Scored != c.scored || info.Vocab != 256 {
			t.Errorf("%s: %+v", c.mode, info)
		}
		b := batch(t, longer, Test, 0, 0, 50)
		if s := evaluate(t, longer, b, longer.Oracle(b)); s.Exact != 1 {
			t.Errorf("%s: oracle %+v", c.mode, s)
		}
	}
}
