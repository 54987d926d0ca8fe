package golden

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kalmarz/kalmarz/layers/check"
)

// taker takes a case's arrays one by one, and with them the sizes of the axes,
// which must be the same in all of them.
type taker struct {
	c       *Case
	archive string
	sizes   map[rune]int
	left    map[string]check.Array
}

func (c *Case) taker(archive string) *taker {
	return &taker{c, archive, map[rune]int{}, maps.Clone(c.Arrays)}
}

// key names an array in messages.
func (t *taker) key(array string) string {
	return fmt.Sprintf("%s: key %q", t.archive, t.c.Family+"/"+t.c.Name+"/"+array)
}

func (t *taker) take(array, axes string) (check.Array, error) {
	a, ok := t.left[array]
	if !ok {
		return a, fmt.Errorf("%s is missing", t.key(array))
	}
	delete(t.left, array)
	fits := len(a.Dims) == len(axes)
	for i, axis := range axes {
		if !fits {
			break
		}
		if t.sizes[axis] == 0 {
			t.sizes[axis] = a.Dims[i]
		}
		fits = t.sizes[axis] == a.Dims[i]
	}
	if !fits {
		return a, fmt.Errorf("%s has shape %v, expected %s with %s", t.key(array), a.Dims, axes, describe(t.sizes))
	}
	return a, nil
}

// none returns an error if an array is left.
func (t *taker) none(expected string) error {
	for _, array := range slices.Sorted(maps.Keys(t.left)) {
		return fmt.Errorf("%s: not an array of a %s case, which has %s", t.key(array), t.c.Family, expected)
	}
	return nil
}

func describe(sizes map[rune]int) string {
	var words []string
	for _, axis := range slices.Sorted(maps.Keys(sizes)) {
		words = append(words, string(axis)+"="+strconv.Itoa(sizes[axis]))
	}
	return strings.Join(words, ", ")
}
