package lab

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kalmarz/kalmarz/datasets"
	"github.com/kalmarz/kalmarz/lab/backend"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/model"
)

// placeKeys say where an experiment runs and its results go, not what it is.
var placeKeys = []string{"out", "backend"}

// set shows, adds and removes the session's defaults: all its words, or none of
// them if one is wrong.
func set(_ context.Context, s *Session, args []string) error {
	if len(args) == 0 {
		t := &table{header: []string{"key", "value"}}
		for _, kv := range s.defaults {
			t.add(kv.Key, kv.Value)
		}
		if len(t.rows) == 0 {
			_, err := io.WriteString(s.Out, "nothing is set\n")
			return err
		}
		_, err := io.WriteString(s.Out, t.text())
		return err
	}
	next := slices.Clone(s.defaults)
	before, after := canonicalKeys(pairs(next)), canonicalKeys(append(pairs(next), args...))
	for _, a := range args {
		key, value, ok := strings.Cut(a, "=")
		if !ok || key == "" {
			return fmt.Errorf("%q: expected key=value, or key= to remove", a)
		}
		at := slices.IndexFunc(next, func(kv KeyValue) bool {
			return before(kv.Key) == before(key) || after(kv.Key) == after(key)
		})
		switch {
		case value == "" && at < 0:
			var known []string
			for _, kv := range next {
				known = append(known, kv.Key)
			}
			return fmt.Errorf("%s is not set%s", key, nearest(key, known))
		case value == "":
			next = slices.Delete(next, at, at+1)
		case at >= 0:
			next[at] = KeyValue{key, value}
		default:
			next = append(next, KeyValue{key, value})
		}
	}
	var words []string
	for _, kv := range next {
		switch {
		case kv.Key == "backend":
			if _, err := backend.Choose(kv.Value); err != nil {
				return err
			}
		case !slices.Contains(placeKeys, kv.Key):
			words = append(words, kv.Key+"="+kv.Value)
		}
	}
	if _, err := Parse(words); err != nil {
		return s.blame(err, args)
	}
	s.defaults = next
	return nil
}

// withDefaults adds the session's defaults to a command's words, except those
// that the words give themselves, under whichever name.
func (s *Session) withDefaults(words []string) []string { return fill(words, pairs(s.defaults)) }

// fill adds key=value words to others, except those that these give themselves,
// under whichever name.
func fill(words, defaults []string) []string {
	if len(defaults) == 0 {
		return words
	}
	all := slices.Concat(defaults, words)
	canonical := canonicalKeys(all)
	given := map[string]bool{}
	for _, w := range words {
		if key, _, ok := strings.Cut(w, "="); ok {
			given[canonical(key)] = true
		}
	}
	for _, key := range fileKeys(words) {
		given[key] = true
	}
	out := slices.Clone(words)
	for _, w := range defaults {
		if key, _, _ := strings.Cut(w, "="); !given[canonical(key)] {
			out = append(out, w)
		}
	}
	return out
}

// blame adds to an error about an experiment what the session's defaults are,
// if there is none about a command's own words.
func (s *Session) blame(err error, own []string) error {
	own = slices.DeleteFunc(slices.Clone(own), func(w string) bool {
		key, value, ok := strings.Cut(w, "=")
		return !ok || value == "" || slices.Contains(placeKeys, key)
	})
	if _, alone := Parse(own); alone != nil || len(s.defaults) == 0 {
		return err
	}
	return fmt.Errorf("%w (set before: %s; set key= removes one)", err, strings.Join(pairs(s.defaults), " "))
}

// canonicalKeys returns a function that gives a key its one name, for the task
// and the mixers that the words choose. It leaves a key that it does not know.
func canonicalKeys(words []string) func(key string) string {
	task, kinds := chosen(words)
	return func(key string) string {
		if task == nil {
			return key
		}
		if c, err := resolve(key, task, kinds); err == nil {
			return c
		}
		return key
	}
}

// chosen finds the task and the mixers that words choose, the last word if
// there are several; nil where there is none of that name.
func chosen(words []string) (*datasets.Kind, []*mixer.Kind) {
	value := map[string]string{}
	for _, key := range []string{"task", "mixer"} {
		value[key] = options.Find(key).Default.(string)
	}
	for _, w := range words {
		if key, v, ok := strings.Cut(w, "="); ok && v != "" {
			value[key] = v
		}
	}
	task, err := datasets.Find(value["task"])
	if err != nil {
		return nil, nil
	}
	var kinds []*mixer.Kind
	pattern, err := model.ParsePattern(value["mixer"])
	if err != nil {
		return task, nil
	}
	for _, name := range pattern.Names() {
		if k, err := mixer.Find(name); err == nil {
			kinds = append(kinds, k)
		}
	}
	return task, kinds
}

func pairs(list []KeyValue) []string {
	out := make([]string, len(list))
	for i, kv := range list {
		out[i] = kv.Key + "=" + kv.Value
	}
	return out
}
