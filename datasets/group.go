package datasets

import (
	"fmt"
	"slices"
)

// group is a finite group: times[a*n+b] is the product a after b, and the
// identity is element 0.
type group struct {
	n          int
	times      []int32
	names      []string
	generators []int32 // two elements that generate it
}

// groups maps a name to its group. Those of permutations number their elements
// in lexicographic order, and multiply as (a b)(i) = a(b(i)).
var groups = map[string]func() *group{
	"z2":    func() *group { return cyclic(2, 1, 0) },
	"z60":   func() *group { return cyclic(60, 12, 5) },
	"s3":    func() *group { return permutations(3, false, "102", "120") },
	"a4xz5": func() *group { return direct(permutations(4, true, "1032", "0231"), cyclic(5, 1, 0)) },
	"a5":    func() *group { return permutations(5, true, "12340", "12034") },
}

func newGroup(n int, product func(a, b int) int, name func(a int) string) *group {
	g := &group{n: n, times: make([]int32, n*n), names: make([]string, n)}
	for a := range n {
		g.names[a] = name(a)
		for b := range n {
			g.times[a*n+b] = int32(product(a, b))
		}
	}
	return g
}

func cyclic(n int, generators ...int32) *group {
	g := newGroup(n, func(a, b int) int { return (a + b) % n }, func(a int) string { return fmt.Sprint(a) })
	g.generators = generators
	return g
}

// permutations of 0..n-1, or the even ones.
func permutations(n int, even bool, generators ...string) *group {
	var elements [][]int
	var extend func(prefix []int, odd bool)
	extend = func(prefix []int, odd bool) {
		if len(prefix) == n {
			if !(even && odd) {
				elements = append(elements, slices.Clone(prefix))
			}
			return
		}
		for x, larger := 0, 0; x < n; x++ {
			if slices.Contains(prefix, x) {
				continue
			}
			// Choosing x passes over the free numbers below it: as many
			// inversions.
			extend(append(prefix, x), odd != (larger%2 == 1))
			larger++
		}
	}
	extend(nil, false)
	name := func(p []int) string {
		digits := make([]byte, n)
		for i, x := range p {
			digits[i] = byte('0' + x)
		}
		return string(digits)
	}
	id := map[string]int{}
	for i, p := range elements {
		id[name(p)] = i
	}
	g := newGroup(len(elements), func(a, b int) int {
		product := make([]int, n)
		for i := range product {
			product[i] = elements[a][elements[b][i]]
		}
		return id[name(product)]
	}, func(a int) string { return name(elements[a]) })
	for _, word := range generators {
		g.generators = append(g.generators, int32(id[word]))
	}
	return g
}

// direct is the product of two groups; (a, b) is element a*h.n+b.
func direct(g, h *group) *group {
	p := newGroup(g.n*h.n, func(a, b int) int {
		x, y := g.times[a/h.n*g.n+b/h.n], h.times[a%h.n*h.n+b%h.n]
		return int(x)*h.n + int(y)
	}, func(a int) string { return g.names[a/h.n] + "," + h.names[a%h.n] })
	// The orders of the second factors' elements are prime to those of the
	// first, so that powers separate them.
	p.generators = []int32{g.generators[0]*int32(h.n) + h.generators[0], g.generators[1] * int32(h.n)}
	return p
}
