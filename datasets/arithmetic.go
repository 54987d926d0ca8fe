package datasets

import (
	"math/rand/v2"
	"strings"

	"github.com/kalmarz/kalmarz/layers/option"
)

// Arithmetic modulo 5, answered at the closing "=". Without brackets products
// bind before sums; with brackets every operation has its own pair.

var arithmeticPresets = map[string]map[string]string{
	"small": {"min": "12", "max": "40"},
	"paper": {"min": "3", "max": "40"},
	"long":  {"min": "40", "max": "256"},
}

var flatKind = &Kind{
	Name: "mod-arithmetic", Doc: "value of a sum of products modulo 5 (v is 5+v)",
	Options: lengthOptions(12, 20, 1<<16), Presets: arithmeticPresets, New: newFlat,
}

// Ids: + - * are 1 2 3, = is 4, digits 0 to 4 are 5 to 9.
func newFlat(v option.Values) (Task, error) {
	dist := []flatState{{}} // after so many digits
	return newLanguage(language{
		name: "mod-arithmetic", vocab: 10, classes: 10,
		length: func(n int) int { return n + n%2 },
		draw: func(r *rand.Rand, word, values []int32) {
			for t := 0; t < len(word); t += 2 {
				word[t], word[t+1] = 5+r.Int32N(5), 1+r.Int32N(3)
			}
			word[len(word)-1] = 4
			// sum of the terms closed so far, and the open one
			sum, term := int32(0), word[0]-5
			for t := 1; t < len(word)-1; t += 2 {
				digit := word[t+1] - 5
				switch word[t] {
				case 1:
					sum, term = sum+term, digit
				case 2:
					sum, term = sum+term, 5-digit
				case 3:
					term = term * digit % 5
				}
			}
			values[len(word)-1] = 5 + (sum+term)%5
		},
		solve: func(word []int32) int32 { return 5 + evaluateFlat(word[:len(word)-1]) },
		best: func(n int) float64 {
			for len(dist) <= n/2 {
				dist = append(dist, dist[len(dist)-1].next(len(dist) == 1))
			}
			return dist[n/2].best()
		},
		token: symbols("_+-*=01234"), class: symbols("_+-*=01234"),
	}, v, false, newFlat)
}

// evaluateFlat splits at sums, then at products.
func evaluateFlat(word []int32) int32 {
	text := make([]byte, len(word))
	for i, x := range word {
		text[i] = "_+-*=01234"[x]
	}
	total := int32(0)
	for _, term := range strings.Split(strings.ReplaceAll(string(text), "-", "+-"), "+") {
		product := int32(1)
		if strings.HasPrefix(term, "-") {
			product, term = -1, term[1:]
		}
		for _, digit := range strings.Split(term, "*") {
			product = product * int32(digit[0]-'0') % 5
		}
		total += product
	}
	return (total%5 + 5) % 5
}

// flatState is the distribution of (sum of closed terms, open term).
type flatState [5][5]float64

func (p flatState) next(first bool) (q flatState) {
	for digit := range 5 {
		if first {
			q[0][digit] = 0.2
			continue
		}
		for s, row := range p {
			for t, x := range row {
				q[(s+t)%5][digit] += x / 15
				q[(s+t)%5][(5-digit)%5] += x / 15
				q[s][t*digit%5] += x / 15
			}
		}
	}
	return q
}

func (p flatState) best() float64 {
	var value [5]float64
	for s, row := range p {
		for t, x := range row {
			value[(s+t)%5] += x
		}
	}
	return max(value[0], value[1], value[2], value[3], value[4])
}
