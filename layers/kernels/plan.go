package kernels

import (
	"fmt"
	"strconv"
	"strings"
)

// parseNumbers sets a plan's numbers from text, in which commas are between them, and
// tells whether all are there and allowed at their places.
func parseNumbers(text string, numbers []*int, allowed func(i, n int) bool) bool {
	words := strings.Split(text, ",")
	if len(words) != len(numbers) {
		return false
	}
	for i, word := range words {
		n, err := strconv.Atoi(word)
		if err != nil || !allowed(i, n) {
			return false
		}
		*numbers[i] = n
	}
	return true
}

// numbered is a plan's part of a kernel's name.
func numbered(numbers []*int) string {
	var b strings.Builder
	for _, n := range numbers {
		fmt.Fprintf(&b, "_%d", *n)
	}
	return b.String()
}
