package lab

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/kalmarz/kalmarz/datasets"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/model"
	"github.com/kalmarz/kalmarz/layers/option"
)

// kindsOf finds the kinds of task and mixers that are named, or the defaults.
func kindsOf(named map[string]string) (*datasets.Kind, []*mixer.Kind, error) {
	task, _, kinds, err := kindsAndPattern(named)
	return task, kinds, err
}

// kindsAndPattern is kindsOf with the stack that the mixers are of.
func kindsAndPattern(named map[string]string) (*datasets.Kind, *model.Pattern, []*mixer.Kind, error) {
	word := func(key string) string {
		if v, ok := named[key]; ok {
			return v
		}
		return options.Find(key).Default.(string)
	}
	task, err := findTask(word("task"))
	if err != nil {
		return nil, nil, nil, err
	}
	pattern, err := model.ParsePattern(word("mixer"))
	if err != nil {
		return nil, nil, nil, err
	}
	kinds, err := mixersOf(pattern)
	return task, pattern, kinds, err
}

// findOption returns the declaration of a canonical key.
func findOption(key string, task *datasets.Kind, kinds []*mixer.Kind) *option.Option {
	group, name, dotted := strings.Cut(key, ".")
	switch {
	case !dotted:
		return options.Find(key)
	case key == "task.preset":
		return &option.Option{Name: "preset", Kind: option.Word, Choices: task.PresetNames()}
	case group == "task":
		return task.Options.Find(name)
	case chooserOf(key) != nil:
		return chooserOf(key).find(name)
	case group == "route":
		return routeOption(name)
	}
	_, _, layer := layerOf(name)
	name, of, one := strings.Cut(name, "@")
	for _, k := range kinds {
		if o := k.Options.Find(name); o != nil && (!one || layer || k.Name == of) {
			return o
		}
	}
	return nil
}

// key is an entry's canonical key. The kinds of task, mixer and so on are the key name
// of their tables, or top-level keys in a file without these tables.
func (e tomlEntry) key() (string, bool) {
	for _, part := range e.path {
		if part == "" || strings.ContainsAny(part, ".@=") {
			return "", false
		}
	}
	group := e.path[0]
	switch n := len(e.path); {
	case n == 1:
		return group, true
	case group != "task" && group != "mixer" && group != "route" && chooserOf(group) == nil:
		return "", false
	case n == 2 && e.path[1] == "name":
		return group, true
	case n == 2:
		return group + "." + e.path[1], true
	case n == 3 && group == "mixer":
		return "mixer." + e.path[2] + "@" + e.path[1], true
	}
	return "", false
}

// value is an entry's text, checked to be what the option takes in TOML's form.
func (e tomlEntry) value(o *option.Option) (string, error) {
	bad := fmt.Errorf("must be %s", o.Allowed())
	text := strings.ReplaceAll(e.text, "_", "")
	switch {
	case e.kind == unstable.String && (o.Kind == option.Word || slices.Contains(o.Choices, e.text)):
		text = e.text
	case e.kind == unstable.String:
		return "", fmt.Errorf("must be %s, numbers and true or false without quotes", o.Allowed())
	case e.kind == unstable.Bool && o.Kind == option.Bool:
	case e.kind == unstable.Integer && (o.Kind == option.Int || o.Kind == option.Float):
		n, err := strconv.ParseInt(text, 0, 64)
		if err != nil {
			return "", bad
		}
		text = strconv.FormatInt(n, 10)
	case e.kind == unstable.Float && o.Kind == option.Float:
	case o.Kind == option.Word:
		return "", fmt.Errorf("must be %s, in quotes", o.Allowed())
	default:
		return "", bad
	}
	x, err := o.Parse(text)
	if err != nil {
		return "", err
	}
	return option.Format(x), nil
}
