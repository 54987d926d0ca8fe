package datasets

import (
	"math"
	"testing"
)

func TestGroups(t *testing.T) {
	for name, c := range map[string]struct {
		n       int
		abelian bool
	}{"z2": {2, true}, "z60": {60, true}, "s3": {6, false}, "a4xz5": {60, false}, "a5": {60, false}} {
		g := groups[name]()
		at := func(a, b int) int { return int(g.times[a*g.n+b]) }
		if g.n != c.n {
			t.Errorf("%s: %d elements, want %d", name, g.n, c.n)
		}
		abelian := true
		for a := range g.n {
			if at(a, 0) != a || at(0, a) != a {
				t.Errorf("%s: 0 is no identity for %d", name, a)
			}
			row, column := map[int]bool{}, map[int]bool{}
			for b := range g.n {
				row[at(a, b)], column[at(b, a)] = true, true
				abelian = abelian && at(a, b) == at(b, a)
				for c := range g.n {
					if at(at(a, b), c) != at(a, at(b, c)) {
						t.Fatalf("%s: (%d %d) %d is not associative", name, a, b, c)
					}
				}
			}
			if len(row) != g.n || len(column) != g.n {
				t.Errorf("%s: %d has no inverse", name, a)
			}
		}
		if abelian != c.abelian {
			t.Errorf("%s: abelian is %v", name, abelian)
		}
		if n := len(g.generated()); n != g.n {
			t.Errorf("%s: %v generate %d elements", name, g.generators, n)
		}
	}
}

// generated are the products of the generators.
func (g *group) generated() map[int32]bool {
	seen := map[int32]bool{0: true}
	for queue := []int32{0}; len(queue) > 0; queue = queue[1:] {
		for _, s := range g.generators {
			if x := g.times[int(queue[0])*g.n+int(s)]; !seen[x] {
				seen[x] = true
				queue = append(queue, x)
			}
		}
	}
	return seen
}

// commutators generate a subgroup: all of A5, which is why it is not solvable,
// but only a part of A4 x Z5.
func TestSolvable(t *testing.T) {
	for name, want := range map[string]int{"z60": 1, "s3": 3, "a4xz5": 4, "a5": 60} {
		g := groups[name]()
		inverse := make([]int32, g.n)
		for i, x := range g.times {
			if x == 0 {
				inverse[i/g.n] = int32(i % g.n)
			}
		}
		commutators := &group{n: g.n, times: g.times}
		for a := range g.n {
			for b := range g.n {
				ab, ba := g.times[a*g.n+b], g.times[b*g.n+a]
				commutators.generators = append(commutators.generators, g.times[int(ab)*g.n+int(inverse[ba])])
			}
		}
		if n := len(commutators.generated()); n != want {
			t.Errorf("%s: %d elements are products of commutators, want %d", name, n, want)
		}
	}
}

// The running product is the composition of the permutations themselves.
func TestWordsCompose(t *testing.T) {
	task := open(t, "words", "preset=paper")
	b := batch(t, task, Test, 0, 0, 100)
	for row := range b.Rows {
		in, target, _ := b.Row(row)
		product := "01234"
		for i, x := range in {
			next := make([]byte, 5)
			for j, d := range task.Token(x) {
				next[j] = product[d-'0']
			}
			product = string(next)
			if got := task.Token(target[i]); got != product {
				t.Fatalf("row %d at %d: %s, want %s", row, i, got, product)
			}
		}
	}
}

// Every answer occurs, about equally often.
func TestWordsAreUniform(t *testing.T) {
	for _, options := range []string{"preset=paper len=5", "preset=paper group=a4xz5 len=5", "preset=paper group=z60 len=5"} {
		b := batch(t, open(t, "words", options), Train, 0, 0, 4000)
		var counts [60]float64
		for row := range b.Rows {
			_, target, _ := b.Row(row)
			counts[target[4]]++
		}
		chi, expected := 0.0, 4000.0/60
		for _, n := range counts {
			chi += (n - expected) * (n - expected) / expected
		}
		if chi > 59+4*math.Sqrt(2*59) {
			t.Errorf("%s: chi-square %.1f of 59 degrees of freedom", options, chi)
		}
	}
}
