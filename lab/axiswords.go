package lab

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// cross is the word between the axes of a grid.
const cross = "x"

// mostAxes is how many may be crossed.
const mostAxes = 3

// readAxes takes AXIS [VALUE...] [x AXIS [VALUE...]]... apart.
func readAxes(words []string) ([]Varied, error) {
	var axes []Varied
	for i, part := range split(words, cross) {
		switch {
		case i == mostAxes:
			return nil, fmt.Errorf("%s: a grid has two axes or three: AXIS [VALUE...] x AXIS [VALUE...]", strings.Join(words, " "))
		case len(part) == 0 && i == 0:
			return nil, fmt.Errorf("no axis before x: AXIS [VALUE...] x AXIS [VALUE...]")
		case len(part) == 0:
			return nil, fmt.Errorf("no axis after x: AXIS [VALUE...] x AXIS [VALUE...]")
		}
		ax, err := Vary(part[0], part[1:]...)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(axes, func(other Varied) bool { return other.Key == ax.Key }) {
			return nil, fmt.Errorf("axis %s is crossed with itself: give all its values at once", ax.Name)
		}
		axes = append(axes, ax)
	}
	return axes, nil
}

// split cuts a list at each word sep.
func split(words []string, sep string) (parts [][]string) {
	parts = [][]string{nil}
	for _, w := range words {
		if w == sep {
			parts = append(parts, nil)
			continue
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], w)
	}
	return parts
}

// readRates takes the learning rates apart among which each cell chooses, and
// sorts them. None is no choice.
func readRates(text string, axes []Varied) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	for _, ax := range axes {
		if ax.Axis == rateAxis {
			return nil, fmt.Errorf("--lrs %s: axis lr varies the learning rate already", text)
		}
	}
	rates := strings.Split(text, ",")
	value := map[string]float64{}
	for _, r := range rates {
		v, err := strconv.ParseFloat(r, 64)
		if err != nil || !(v > 0) || len(rates) < 2 {
			return nil, fmt.Errorf("--lrs %s: must be two or more learning rates with commas, as 0.003,0.01,0.03", text)
		}
		for other, w := range value {
			if v == w {
				return nil, fmt.Errorf("--lrs %s: %s and %s are the same learning rate", text, other, r)
			}
		}
		value[r] = v
	}
	slices.SortFunc(rates, func(a, b string) int {
		if value[a] < value[b] {
			return -1
		}
		return 1
	})
	return rates, nil
}

// axisHere is the axis to which the next word of ablate belongs, nil if it is to
// name one, and whether another may follow.
func axisHere(words []string) (here *Axis, another bool) {
	parts := split(words, cross)
	last := parts[len(parts)-1]
	if len(last) == 0 {
		return nil, len(parts) < mostAxes
	}
	ax, err := FindAxis(last[0])
	if err != nil {
		return nil, false
	}
	return ax, len(parts) < mostAxes
}
