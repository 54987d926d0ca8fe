package lab

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kalmarz/kalmarz/layers/option"
)

// general are the keys that are of every bench; preset is no option of its own.
var general = []string{"repeat", "budget", "ahead", "preset"}

// preset is a shape in the words of perf tables: b16t2048.
var preset = regexp.MustCompile(`^b([1-9][0-9]*)t([1-9][0-9]*)$`)

// benchQuery is what the words of bench ask for.
type benchQuery struct {
	benches            []chosenBench
	overview           bool
	limits             benchLimits
	json               bool
	figure, save, from string
}

type chosenBench struct {
	bench
	values option.Values
}

func findBench(name string) (*bench, error) {
	var names []string
	for i := range benches {
		if benches[i].name == name {
			return &benches[i], nil
		}
		names = append(names, benches[i].name)
	}
	return nil, fmt.Errorf("bench %q%s: known are %s", name, nearest(name, names), strings.Join(names, ", "))
}

// readBench reads names, keys and flags. Without names it takes all benches
// that have the given keys; without either, an overview.
func readBench(args []string) (*benchQuery, error) {
	q := &benchQuery{}
	words, err := readFlags(args, map[string]*string{"figure": &q.figure, "save": &q.save, "from": &q.from}, map[string]*bool{"json": &q.json})
	if err != nil {
		return nil, err
	}
	given := map[string]string{}
	var named []bench
	for _, w := range words {
		key, value, isKey := strings.Cut(w, "=")
		if !isKey {
			b, err := findBench(w)
			if err != nil {
				return nil, err
			}
			named = append(named, *b)
			continue
		}
		if _, twice := given[key]; twice {
			return nil, fmt.Errorf("bench: %s is given twice", key)
		}
		if benchOptions.Find(key) == nil && key != "preset" {
			known := append(benchOptions.Names(), "preset")
			return nil, fmt.Errorf("bench: unknown key %q%s: known are %s", key, nearest(key, known), strings.Join(known, ", "))
		}
		given[key] = value
	}
	if q.from != "" && len(words) > 0 {
		return nil, fmt.Errorf("bench: %q: --from shows what is kept and takes no words", words[0])
	}
	q.overview = len(named) == 0 && len(given) == 0
	if q.benches, err = chooseBenches(named, given); err != nil {
		return nil, err
	}
	o := q.benches[0].values
	q.limits = benchLimits{repeat: o.Int("repeat"), budget: o.Float("budget"), ahead: o.Int("ahead")}
	if q.overview {
		q.limits.budget = 0.25
	}
	return q, nil
}

// chooseBenches gives every bench its values: its own defaults, then those of a
// preset, then what is given.
func chooseBenches(named []bench, given map[string]string) (out []chosenBench, err error) {
	shape, has := given["preset"]
	m := preset.FindStringSubmatch(shape)
	if has && m == nil {
		return nil, fmt.Errorf("bench: preset = %s: must be a shape like b16t2048", shape)
	}
	candidates := named
	if len(named) == 0 {
		candidates = slices.DeleteFunc(slices.Clone(benches), func(b bench) bool {
			return has && b.published == nil || len(b.foreign(given)) > 0
		})
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(candidates, func(b bench) bool { return b.takes(key) }) {
			return nil, fmt.Errorf("bench: no bench here has all of %s; help bench lists their keys", strings.Join(slices.Sorted(maps.Keys(given)), ", "))
		}
	}
	for _, b := range candidates {
		if has && b.published == nil {
			return nil, fmt.Errorf("bench %s: presets are of operators: it takes B, T and model", b.name)
		}
		text := maps.Clone(b.usual)
		if has {
			maps.Copy(text, b.published)
			text["B"], text["T"] = m[1], m[2]
		}
		for key, value := range given {
			if b.takes(key) && key != "preset" {
				text[key] = value
			}
		}
		values, err := benchOptions.Parse("bench "+b.name, text)
		if err != nil {
			return nil, err
		}
		if values.Int("B") == 0 && b.usual["B"] != "0" {
			return nil, fmt.Errorf("bench %s: B = 0: must be at least 1", b.name)
		}
		out = append(out, chosenBench{b, values})
	}
	return out, nil
}

// takes tells whether a bench reads a key.
func (b bench) takes(key string) bool {
	return slices.Contains(b.keys, key) || slices.Contains(general, key)
}

// foreign are the keys among those given that a bench does not read.
func (b bench) foreign(given map[string]string) (out []string) {
	for key := range given {
		if !b.takes(key) {
			out = append(out, key)
		}
	}
	return out
}

// lengths reads T; usual stands where it is empty.
func lengths(text, usual string) ([]int, error) {
	if text == "" {
		text = usual
	}
	out, ok := wholeNumbers(text, 1<<26)
	if !ok || len(slices.Compact(slices.Sorted(slices.Values(out)))) < len(out) {
		return nil, fmt.Errorf("T = %s: must be different whole numbers of tokens with commas", text)
	}
	return out, nil
}

// wholeNumbers reads numbers from 1 to most with commas.
func wholeNumbers(text string, most int) (out []int, ok bool) {
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > most {
			return nil, false
		}
		out = append(out, n)
	}
	return out, true
}

// powersOfTwo reads powers of 2 up to most with commas.
func powersOfTwo(text string, most int) (out []int, ok bool) {
	out, ok = wholeNumbers(text, most)
	return out, ok && !slices.ContainsFunc(out, func(n int) bool { return n&(n-1) != 0 })
}
