package lab

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/kalmarz/kalmarz/datasets"
)

func listTasks(_ context.Context, s *Session, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%q: tasks takes one task's name", args[1])
	}
	if len(args) == 1 {
		return describeTask(s.Out, args[0])
	}
	t := &table{header: []string{"task", "vocabulary", "length", "scored", "chance %", "presets", ""}}
	for _, k := range datasets.Registry {
		info, err := k.Describe(nil)
		if err != nil {
			return err
		}
		t.add(append(append([]string{k.Name}, facts(info)...), strings.Join(k.PresetNames(), " "), k.Doc)...)
	}
	_, err := io.WriteString(s.Out, t.text())
	return err
}

// facts are vocabulary, length, scored positions and chance; chance is empty
// where it depends on a text that has not been read.
func facts(i datasets.Info) []string {
	chance := ""
	if !math.IsNaN(i.Chance) {
		chance = fmt.Sprintf("%.3g", 100*i.Chance)
	}
	return []string{fmt.Sprint(i.Vocab), fmt.Sprint(i.T), fmt.Sprintf("%.4g", i.Scored), chance}
}

// describeTask lists a task's options and what each preset makes of them.
func describeTask(w io.Writer, name string) error {
	k, err := findTask(name)
	if err != nil {
		return err
	}
	t := &table{header: []string{"preset", "vocabulary", "length", "scored", "chance %", "sets"}}
	for _, p := range k.PresetNames() {
		info, err := k.Describe(map[string]string{"preset": p})
		if err != nil {
			return err
		}
		var sets []string
		for _, o := range k.Options {
			if v, ok := k.Presets[p][o.Name]; ok {
				sets = append(sets, o.Name+"="+v)
			}
		}
		t.add(append(append([]string{p}, facts(info)...), strings.Join(sets, " "))...)
	}
	_, err = fmt.Fprintf(w, "%s: %s\n\n%s\n%s", k.Name, k.Doc, optionTable("task.", k.Options), t.text())
	return err
}

// findTask is datasets.Find with a guess at what a mistyped name means.
func findTask(name string) (*datasets.Kind, error) {
	k, err := datasets.Find(name)
	if err != nil {
		return nil, fmt.Errorf("unknown task %q%s: known are %s", name, nearest(name, datasets.Names()), strings.Join(datasets.Names(), ", "))
	}
	return k, nil
}

// openTask makes a task from its name and words key=value or task.key=value.
func openTask(words []string) (*datasets.Kind, datasets.Task, error) {
	if len(words) == 0 || strings.Contains(words[0], "=") {
		return nil, nil, fmt.Errorf("a task's name is missing: known are %s", strings.Join(datasets.Names(), ", "))
	}
	k, err := findTask(words[0])
	if err != nil {
		return nil, nil, err
	}
	given := map[string]string{}
	for _, w := range words[1:] {
		key, value, ok := strings.Cut(w, "=")
		if !ok {
			return nil, nil, fmt.Errorf("%q: expected key=value", w)
		}
		key = strings.TrimPrefix(key, "task.")
		if _, twice := given[key]; twice {
			return nil, nil, fmt.Errorf("%s is given twice", key)
		}
		if known := append(k.Options.Names(), "preset"); k.Options.Find(key) == nil && key != "preset" {
			return nil, nil, fmt.Errorf("task %s: unknown option %q%s: known are %s", k.Name, key, nearest(key, known), strings.Join(known, ", "))
		}
		given[key] = value
	}
	t, err := datasets.Open(k.Name, given)
	return k, t, err
}
