package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kalmarz/kalmarz/datasets"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/option"
	"github.com/kalmarz/kalmarz/layers/route"
)

// candidates gives the words that may stand where partial is, after words of
// the command; those that do not begin like partial are left out later.
type candidates func(words []string, partial string) []string

// kinds are the names that Command.Args gives to words, with what completes
// them; nil where nothing can. A declaration A|B offers its own words.
var kinds = map[string]candidates{
	"MIXER":        listed(mixerNames),
	"ROUTER":       listed(route.Names),
	"PATTERN":      func(_ []string, p string) []string { return stackWords(p) },
	"TASK":         func([]string, string) []string { return datasets.Names() },
	"AXIS":         firstAxis,
	"VALUE":        axisValues,
	"STUDY":        func([]string, string) []string { return studyNames() },
	"COMMAND":      func([]string, string) []string { return commandNames() },
	"FILE":         files,
	"PATH":         func(w []string, p string) []string { return append(files(w, p), "prose", "gosrc") },
	"RUN":          runFolders,
	"ABLATION":     func([]string, string) []string { return ablationFolders() },
	"FOLDER":       files,
	"PRESET":       func([]string, string) []string { return presetNames() },
	"key=value":    experimentWords,
	"option=value": taskWords,
	"BENCH":        benchNames,
	"bench=value":  benchWords,
	"backend=NAME": func(_ []string, p string) []string { return valueWords("backend", p, backends) },
	"layers=N":     func(_ []string, p string) []string { return valueWords("layers", p, nil) },
	"jobs=N":       func(_ []string, p string) []string { return valueWords("jobs", p, []string{"auto"}) },
	"NAME":         nil, "TIME": nil, "SIZE": nil,
	"LR,LR": nil, "x": nil, // ablate's VALUE offers x
	"TEXT": nil, "T": nil, "K": nil, "P": nil,
	"N": nil, "MB": nil, "FIELD": nil,
}

var backends = []string{"auto", "go", "xla:cpu", "xla:cuda"}

// listed completes one name after another, with commas between them.
func listed(names func() []string) candidates {
	return func(_ []string, partial string) []string {
		before := partial[:strings.LastIndexByte(partial, ',')+1]
		var out []string
		for _, n := range names() {
			out = append(out, before+n)
		}
		return out
	}
}

func axisNames() (names []string) {
	for _, a := range Axes {
		names = append(names, a.Name)
	}
	return names
}

// firstAxis completes the first word of ablate; axisValues does the others.
func firstAxis(words []string, _ string) []string {
	if len(words) > 0 {
		return nil
	}
	return axisNames()
}

// axisValues are the next axis's names after x, and else the values of the axis
// at hand and x.
func axisValues(words []string, _ string) []string {
	here, another := axisHere(words)
	switch {
	case here == nil && another || len(words) == 0 || words[len(words)-1] == cross:
		return axisNames()
	case here == nil:
		return nil
	case another:
		return append(slices.Clone(here.Values), cross)
	}
	return here.Values
}

// valueWords are key=value for the values that are known.
func valueWords(key, partial string, values []string) []string {
	if !strings.HasPrefix(partial, key+"=") {
		return []string{key + "="}
	}
	var out []string
	for _, v := range values {
		out = append(out, key+"="+v)
	}
	return out
}

// experimentWords completes the keys of an experiment, those of the task and
// the mixers that the words choose among them, and their values. The dotted
// names of keys that have a short one wait until a dot is typed.
func experimentWords(words []string, partial string) []string {
	task, mixers := chosen(words)
	given := map[string]bool{}
	for _, w := range words {
		key, _, _ := strings.Cut(w, "=")
		given[key] = true
	}
	prefix, _, value := strings.Cut(partial, "=")
	var out []string
	seen := map[string]bool{}
	offer := func(key string, o option.Option) {
		_, bare, dotted := strings.Cut(key, ".")
		if dotted && !strings.Contains(prefix, ".") {
			if whole, err := resolve(bare, task, mixers); err == nil && whole == key && options.Find(bare) == nil {
				key = bare
			}
		}
		if seen[key] || given[key] || value && key != prefix {
			return
		}
		seen[key] = true
		out = append(out, valueWords(key, partial, optionValues(key, o, partial))...)
	}
	for _, o := range options {
		offer(o.Name, o)
	}
	for _, c := range choosers {
		for _, o := range c.options(chosenOf(c, words)) {
			offer(c.key+"."+o.Name, o)
		}
	}
	offer("out", option.Option{})
	offer("backend", option.Option{Choices: backends})
	if task != nil {
		offer("task.preset", option.Option{Choices: task.PresetNames()})
		for _, o := range task.Options {
			offer("task."+o.Name, o)
		}
		for _, k := range mixers {
			for _, o := range k.Options {
				offer("mixer."+o.Name, o)
			}
		}
		for _, o := range chosenRouter(words) {
			offer("route."+o.Name, o)
		}
	}
	return out
}

// chosenOf is the kind of a chooser that words name, the last if there are
// several.
func chosenOf(c chooser, words []string) string {
	kind := options.Find(c.key).Default.(string)
	for _, w := range words {
		if key, v, ok := strings.Cut(w, "="); ok && key == c.key && v != "" {
			kind = v
		}
	}
	return kind
}

// optionValues are values to offer: what is allowed, and the default.
func optionValues(key string, o option.Option, partial string) []string {
	_, value, _ := strings.Cut(partial, "=")
	switch {
	case key == "task":
		return datasets.Names()
	case key == "mixer":
		return stackWords(value)
	case key == "out":
		return files(nil, value)
	case o.Kind == option.Bool && o.Default != nil:
		return []string{"true", "false"}
	}
	values := slices.Clone(o.Choices)
	if o.Default != nil && o.Default != "" {
		values = append(values, option.Format(o.Default))
	}
	return values
}

// taskWords completes the options of the task that the first word names.
func taskWords(words []string, partial string) []string {
	if len(words) == 0 {
		return nil
	}
	k, err := datasets.Find(words[0])
	if err != nil {
		return nil
	}
	out := valueWords("preset", partial, k.PresetNames())
	for _, o := range k.Options {
		out = append(out, valueWords(o.Name, partial, optionValues(o.Name, o, partial))...)
	}
	return out
}

func files(_ []string, partial string) []string {
	dir, base := filepath.Split(partial)
	entries, err := os.ReadDir(filepath.Clean(dir + "."))
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") && !strings.HasPrefix(base, ".") {
			continue
		}
		if st, err := os.Stat(filepath.Join(dir, name)); err == nil && st.IsDir() {
			name += "/"
		}
		out = append(out, dir+name)
	}
	return out
}

// runFolders are the names of the runs in runs/.
func runFolders([]string, string) (out []string) {
	runs, err := listRuns("runs")
	if err != nil {
		return nil
	}
	for _, l := range runs {
		out = append(out, l.id)
	}
	return out
}

// ablationFolders are the folders of ablations in runs/.
func ablationFolders() (out []string) {
	found, _ := filepath.Glob("runs/*/ablation.json")
	for _, f := range found {
		out = append(out, filepath.Dir(strings.TrimPrefix(f, "runs/")))
	}
	return out
}

// findMixer is mixer.Find with a guess at what a mistyped name means.
func findMixer(name string) (*mixer.Kind, error) {
	k, err := mixer.Find(name)
	if err != nil {
		return nil, fmt.Errorf("unknown mixer %q%s: known are %s", name, nearest(name, mixerNames()), strings.Join(mixerNames(), ", "))
	}
	return k, nil
}

func mixerNames() (names []string) {
	for _, k := range mixer.Registry {
		names = append(names, k.Name)
	}
	return names
}
