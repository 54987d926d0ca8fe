package datasets

import (
	"fmt"
	"math/rand/v2"

	"github.com/kalmarz/kalmarz/layers/option"
)

// symbols names ids by the letters of a string.
func symbols(letters string) func(int32) string {
	return func(id int32) string { return string([]rune(letters)[id]) }
}

var parityKind = &Kind{
	Name: "parity", Doc: "is the number of b even? (e, even, is 1; o, odd, is 2)",
	Options: append(lengthOptions(16, 16, 1<<16), denseOption), Presets: languagePresets, New: newParity,
}

func newParity(v option.Values) (Task, error) {
	return newLanguage(language{
		name: "parity", vocab: 3, classes: 3,
		draw: func(r *rand.Rand, word, values []int32) {
			odd := int32(0)
			for t := range word {
				b := r.Int32N(2)
				odd ^= b
				word[t], values[t] = 1+b, 1+odd
			}
		},
		solve: func(word []int32) int32 {
			bs := 0
			for _, x := range word {
				if x == 2 {
					bs++
				}
			}
			return int32(1 + bs%2)
		},
		best:  func(int) float64 { return 0.5 },
		token: symbols("_ab"), class: symbols("_eo"),
	}, v, v.Bool("dense"), newParity)
}

var evenPairsKind = &Kind{
	Name: "even-pairs", Doc: "are the first and the last letter equal? (= is 1, ≠ is 2)",
	Options: append(lengthOptions(16, 16, 1<<16), denseOption), Presets: languagePresets, New: newEvenPairs,
}

func newEvenPairs(v option.Values) (Task, error) {
	return newLanguage(language{
		name: "even-pairs", vocab: 3, classes: 3,
		draw: func(r *rand.Rand, word, values []int32) {
			for t := range word {
				word[t] = 1 + r.Int32N(2)
				if values[t] = 2; word[t] == word[0] {
					values[t] = 1
				}
			}
		},
		// The number of places where the letter changes is even.
		solve: func(word []int32) int32 {
			changes := 0
			for t := 1; t < len(word); t++ {
				if word[t] != word[t-1] {
					changes++
				}
			}
			return int32(1 + changes%2)
		},
		best: func(n int) float64 {
			if n == 1 {
				return 1
			}
			return 0.5
		},
		token: symbols("_ab"), class: symbols("_=≠"),
	}, v, v.Bool("dense"), newEvenPairs)
}

var cycleKind = &Kind{
	Name: "cycle-nav", Doc: "where on a cycle of five do these steps end? (place p is 4+p)",
	Options: append(lengthOptions(16, 16, 1<<16), denseOption), Presets: languagePresets, New: newCycle,
}

func newCycle(v option.Values) (Task, error) {
	home := [][5]float64{{1}} // distribution of the place after n steps
	return newLanguage(language{
		name: "cycle-nav", vocab: 4, classes: 9,
		draw: func(r *rand.Rand, word, values []int32) {
			place := int32(0)
			for t := range word {
				step := r.Int32N(3) // stay, forward, back
				place = (place + [3]int32{0, 1, 4}[step]) % 5
				word[t], values[t] = 1+step, 4+place
			}
		},
		solve: func(word []int32) int32 {
			place := 0
			for _, x := range word {
				switch x {
				case 2:
					place++
				case 3:
					place--
				}
			}
			return int32(4 + (place%5+5)%5)
		},
		best: func(n int) float64 {
			for len(home) <= n {
				p, next := home[len(home)-1], [5]float64{}
				for i, x := range p {
					for _, step := range []int{0, 1, 4} {
						next[(i+step)%5] += x / 3
					}
				}
				home = append(home, next)
			}
			return max(home[n][0], home[n][1], home[n][2], home[n][3], home[n][4])
		},
		token: symbols("_0+-"), class: func(id int32) string { return fmt.Sprint(id - 4) },
	}, v, v.Bool("dense"), newCycle)
}
