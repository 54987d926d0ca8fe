package datasets

import (
	"math/rand/v2"

	"github.com/kalmarz/kalmarz/layers/option"
)

var bracketKind = &Kind{
	Name: "mod-arithmetic-brackets", Doc: "value of a bracketed expression modulo 5 (v is 1+v)",
	Options: lengthOptions(12, 20, 2048), Presets: arithmeticPresets, New: newBrackets,
}

const (
	addSign = 6 + iota // digits 0 to 4 are 1 to 5
	subSign
	mulSign
	openSign
	closeSign
	equalSign
)

// operators are drawn with these weights: a product as often as + and - together.
var operators = [4]int32{addSign, subSign, mulSign, mulSign}

func newBrackets(v option.Values) (Task, error) {
	dist := [][5]float64{{}} // of the value of an expression of n symbols
	return newLanguage(language{
		name: "mod-arithmetic-brackets", vocab: 12, classes: 6,
		draw: func(r *rand.Rand, word, values []int32) {
			end := len(word) - 1
			word[end] = equalSign
			values[end] = 1 + drawBracketed(r, word[:end])
		},
		solve: func(word []int32) int32 {
			value, _ := parseBracketed(word)
			return 1 + value
		},
		best: func(n int) float64 {
			for len(dist) < n {
				dist = append(dist, bracketed(dist, len(dist)))
			}
			p := dist[n-1]
			return max(p[0], p[1], p[2], p[3], p[4])
		},
		token: symbols("_01234+-*()="), class: symbols("_01234"),
	}, v, false, newBrackets)
}

// drawBracketed fills word with an expression and returns its value: d, -d,
// (d) and (-d) of up to four symbols, else (left op right).
func drawBracketed(r *rand.Rand, word []int32) int32 {
	n := len(word)
	if n <= 4 {
		digit := r.Int32N(5)
		if n >= 3 {
			word[0], word[n-1] = openSign, closeSign
			word = word[1 : n-1]
		}
		word[len(word)-1] = 1 + digit
		if len(word) == 2 {
			word[0] = subSign
			digit = (5 - digit) % 5
		}
		return digit
	}
	left := 1 + r.IntN(n-4)
	word[0], word[n-1] = openSign, closeSign
	a := drawBracketed(r, word[1:1+left])
	b := drawBracketed(r, word[2+left:n-1])
	op := operators[r.IntN(len(operators))]
	word[1+left] = op
	return apply(op, a, b)
}

func apply(op, a, b int32) int32 {
	switch op {
	case addSign:
		return (a + b) % 5
	case subSign:
		return (a + 5 - b) % 5
	}
	return a * b % 5
}

// parseBracketed reads one expression and returns its value and what follows.
func parseBracketed(word []int32) (value int32, rest []int32) {
	switch word[0] {
	case subSign:
		return (5 - (word[1] - 1)) % 5, word[2:]
	case openSign:
		value, rest = parseBracketed(word[1:])
		if op := rest[0]; op != closeSign {
			var right int32
			right, rest = parseBracketed(rest[1:])
			value = apply(op, value, right)
		}
		return value, rest[1:]
	}
	return word[0] - 1, word[1:]
}

// bracketed is the distribution of the value of n symbols, from the shorter.
func bracketed(shorter [][5]float64, n int) (p [5]float64) {
	if n <= 4 {
		return [5]float64{0.2, 0.2, 0.2, 0.2, 0.2}
	}
	for left := 1; left <= n-4; left++ {
		for a, pa := range shorter[left] {
			for b, pb := range shorter[n-3-left] {
				for _, op := range operators {
					p[apply(op, int32(a), int32(b))] += pa * pb / float64(4*(n-4))
				}
			}
		}
	}
	return p
}
