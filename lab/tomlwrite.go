package lab

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kalmarz/kalmarz/layers/option"
)

// TOML writes the experiment as a file that Parse reads back, complete with
// defaults: top-level keys, then the tables of optimizer and schedule, of the
// task, of all mixers, of mixers and layers that differ from these, and of the
// router.
func (e *Experiment) TOML() (string, error) {
	task, kinds, err := kindsOf(map[string]string{"task": e.Word("task"), "mixer": e.Word("mixer")})
	if err != nil {
		return "", err
	}
	tables := map[string]*strings.Builder{}
	order := []string{""}
	for _, c := range choosers {
		order = append(order, c.key)
	}
	order = append(order, "task", "mixer")
	for _, kv := range e.complete {
		if !utf8.ValidString(kv.Value) {
			return "", fmt.Errorf("%s = %q: a TOML file holds only UTF-8", kv.Key, kv.Value)
		}
		group, name, dotted := strings.Cut(kv.Key, ".")
		table := ""
		switch key, of, one := strings.Cut(name, "@"); {
		case kv.Key == "task" || kv.Key == "mixer" || kv.Key == "route" || chooserOf(kv.Key) != nil && !dotted:
			table, name = kv.Key, "name"
		case !dotted:
			name = group
		case one:
			table, name = "mixer."+of, key
		default:
			table = group
		}
		if tables[table] == nil {
			tables[table] = &strings.Builder{}
			if strings.HasPrefix(table, "mixer.") || table == "route" {
				order = append(order, table)
			}
		}
		fmt.Fprintf(tables[table], "%s = %s\n", name, tomlValue(findOption(kv.Key, task, kinds), kv.Value))
	}
	var b strings.Builder
	for _, table := range order {
		if table != "" {
			fmt.Fprintf(&b, "\n[%s]\n", table)
		}
		b.WriteString(tables[table].String())
	}
	return b.String(), nil
}

// tomlValue writes a value, given as text, in TOML's form.
func tomlValue(o *option.Option, text string) string {
	x, err := o.Parse(text)
	if _, word := x.(string); word || err != nil {
		return tomlString(text)
	}
	if _, number := x.(float64); number && !strings.ContainsAny(text, ".e") {
		return text + ".0" // without a point it would be TOML's integer
	}
	return text
}
