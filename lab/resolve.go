package lab

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalmarz/kalmarz/datasets"
	"github.com/kalmarz/kalmarz/layers/mixer"
)

// resolve returns a key's canonical form: an experiment's own key as it is, an
// option of the task as task.KEY, one of the mixers as mixer.KEY, one of the
// router as route.KEY, one of what trains them as optimizer.KEY or schedule.KEY.
func resolve(key string, task *datasets.Kind, kinds []*mixer.Kind) (string, error) {
	var known, matches []string
	for _, o := range options {
		known = append(known, o.Name)
		if o.Name == key {
			return key, nil
		}
	}
	match := func(canonical string) {
		known = append(known, canonical)
		if canonical == key {
			matches = []string{canonical}
		}
		if _, bare, _ := strings.Cut(canonical, "."); bare == key && !slices.Contains(matches, canonical) {
			matches = append(matches, canonical)
		}
	}
	for i := range choosers {
		for _, canonical := range choosers[i].all() {
			match(canonical)
		}
	}
	for _, name := range routeKeys() {
		known = append(known, name)
		if name == key {
			return key, nil // only by its whole name
		}
	}
	if name, layer, ok := layerOf(key); ok {
		canonical, err := resolve(name, task, kinds)
		if err == nil && !strings.HasPrefix(canonical, "mixer.") {
			err = fmt.Errorf("%s: only a mixer's option can be of one layer", key)
		}
		return fmt.Sprintf("%s@%d", canonical, layer), err
	}
	match("task.preset")
	for _, o := range task.Options {
		match("task." + o.Name)
	}
	for _, k := range kinds {
		for _, o := range k.Options {
			match("mixer." + o.Name)
			if len(kinds) > 1 {
				match("mixer." + o.Name + "@" + k.Name)
			}
		}
	}
	switch len(matches) {
	case 1:
		return matches[0], nil
	case 0:
		names := make([]string, len(kinds))
		for i, k := range kinds {
			names[i] = k.Name
		}
		return "", fmt.Errorf("unknown key %q%s: see help train, or mixers %s, or tasks %s", key, nearest(key, known), strings.Join(names, ","), task.Name)
	}
	return "", fmt.Errorf("key %q may be %s: say which", key, strings.Join(matches, " or "))
}

// nearest names the known word closest to a mistyped one, if any is close.
func nearest(word string, known []string) string {
	best, distance := "", max(2, len(word)/3)+1
	for _, k := range known {
		_, bare, dotted := strings.Cut(k, ".")
		d := editDistance(word, k)
		if dotted {
			d = min(d, editDistance(word, bare))
		}
		if d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// editDistance counts insertions, deletions and substitutions.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j+1]+1, row[j]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
