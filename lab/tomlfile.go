package lab

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/kalmarz/kalmarz/datasets"
	"github.com/kalmarz/kalmarz/layers/mixer"
)

// splitFile takes the experiment's file out of words that are otherwise
// key=value.
func splitFile(words []string) (file string, rest []string, err error) {
	for _, w := range words {
		switch {
		case !isFile(w):
			rest = append(rest, w)
		case file != "":
			return "", nil, fmt.Errorf("%s and %s: an experiment is one file", file, w)
		default:
			file = w
		}
	}
	return file, rest, nil
}

func isFile(word string) bool {
	return strings.HasSuffix(word, ".toml") && !strings.Contains(word, "=")
}

// namesMixer tells whether words, or the file among them, say which mixer.
func namesMixer(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "mixer=") }) ||
		slices.Contains(fileKeys(words), "mixer")
}

// fileKeys are the keys that the file among words gives. What is wrong with the
// file Parse says.
func fileKeys(words []string) []string {
	file, _, err := splitFile(words)
	if file == "" || err != nil {
		return nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	entries, err := parseTOML(file, b)
	if err != nil {
		return nil
	}
	var keys []string
	for _, e := range entries {
		if key, ok := e.key(); ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// fromFile makes an experiment from a file and words that override it.
func fromFile(file string, words map[string]string) (*Experiment, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, cause(err))
	}
	return fromTOML(file, b, words)
}

func fromTOML(file string, content []byte, words map[string]string) (*Experiment, error) {
	entries, err := parseTOML(file, content)
	if err != nil {
		return nil, err
	}
	named := map[string]string{}
	for _, e := range entries {
		if key, _ := e.key(); key == "task" || key == "mixer" {
			named[key] = e.text
		}
	}
	maps.Copy(named, words)
	task, kinds, err := kindsOf(named)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	given := map[string]string{}
	lines := map[string]int{}
	for _, e := range entries {
		key, ok := e.key()
		if !ok {
			return nil, fmt.Errorf("%s:%d: unknown key %s: top-level keys, [optimizer], [schedule], [task], [mixer], [mixer.NAME], [mixer.LAYER] and [route] are known", file, e.line, strings.Join(e.path, "."))
		}
		canonical, err := resolve(key, task, kinds)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, e.line, err)
		}
		if group, _, _ := strings.Cut(canonical, "."); canonical != key {
			return nil, fmt.Errorf("%s:%d: %s belongs in the table [%s]", file, e.line, key, group)
		}
		if first, twice := lines[key]; twice {
			return nil, fmt.Errorf("%s:%d: %s is given twice, first in line %d", file, e.line, key, first)
		}
		lines[key] = e.line
		if given[key], err = e.value(findOption(key, task, kinds)); err != nil {
			return nil, fmt.Errorf("%s:%d: %s = %s: %w", file, e.line, strings.Join(e.path, "."), e.raw, err)
		}
	}
	if err := override(given, words, task, kinds); err != nil {
		return nil, err
	}
	e, err := build(given)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return e, nil
}

// override replaces what a file gives by words. A word for all mixers also
// replaces what the file gives for one.
func override(given, words map[string]string, task *datasets.Kind, kinds []*mixer.Kind) error {
	from := map[string]string{}
	for _, word := range slices.Sorted(maps.Keys(words)) {
		key, err := resolve(word, task, kinds)
		if err != nil {
			return err
		}
		if first, twice := from[key]; twice {
			return fmt.Errorf("%s is given twice, as %s and as %s", key, first, word)
		}
		from[key] = word
		for other := range given {
			if strings.HasPrefix(other, key+"@") {
				delete(given, other)
			}
			if key == "task.preset" && strings.HasPrefix(other, "task.") {
				return fmt.Errorf("task.preset = %s would change nothing that the file sets, as %s: leave that out of the file", words[word], other)
			}
		}
	}
	for key, word := range from {
		given[key] = words[word]
	}
	return nil
}
