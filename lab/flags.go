package lab

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// readFlags takes --name value, --name=value and, for switches, --name out of a
// command's words, and returns the words that are left.
func readFlags(args []string, values map[string]*string, switches map[string]*bool) (words []string, err error) {
	for i := 0; i < len(args); i++ {
		flag, ok := strings.CutPrefix(args[i], "--")
		if !ok {
			words = append(words, args[i])
			continue
		}
		name, value, given := strings.Cut(flag, "=")
		switch {
		case switches[name] != nil && !given:
			*switches[name] = true
		case switches[name] != nil:
			return nil, fmt.Errorf("--%s takes no value", name)
		case values[name] != nil && given:
			*values[name] = value
		case values[name] != nil:
			if i++; i == len(args) {
				return nil, fmt.Errorf("--%s needs a value", name)
			}
			*values[name] = args[i]
		default:
			known := slices.Sorted(maps.Keys(values))
			known = append(known, slices.Sorted(maps.Keys(switches))...)
			return nil, fmt.Errorf("unknown flag --%s%s: known are --%s", name, nearest(name, known), strings.Join(known, ", --"))
		}
	}
	return words, nil
}
