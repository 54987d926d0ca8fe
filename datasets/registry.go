package datasets

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalmarz/kalmarz/layers/option"
)

// Kind is a kind of task: what can be chosen about it and how it is made.
type Kind struct {
	Name, Doc string
	Options   option.Set // the defaults are the preset quick
	// Presets are named settings, each as far as it differs from quick.
	Presets map[string]map[string]string
	// Ladder is the protocol's harder settings, each as it differs from paper.
	Ladder []map[string]string
	New    func(option.Values) (Task, error)
	// unread makes the task without its rows, where those take reading a text;
	// Chance is then NaN.
	unread func(option.Values) (Task, error)
}

// Registry lists every kind of task.
var Registry = []*Kind{
	mqarKind, mixtureKind, kimiKind,
	recallKind, noisyKind, fuzzyKind, copyKind, compressionKind, memorizationKind,
	wordKind, stackKind, palindromeKind, niahKind,
	parityKind, evenPairsKind, cycleKind, flatKind, bracketKind,
	textKind,
}

// Names lists the kinds of task.
func Names() []string {
	names := make([]string, len(Registry))
	for i, k := range Registry {
		names[i] = k.Name
	}
	return names
}

// Find returns the kind of that name, or an error that lists the known.
func Find(name string) (*Kind, error) {
	for _, k := range Registry {
		if k.Name == name {
			return k, nil
		}
	}
	return nil, fmt.Errorf("unknown task %q: known are %s", name, strings.Join(Names(), ", "))
}

// Open makes a task from text: given holds options, and may hold a preset,
// which is quick if absent; the other options then override it.
func Open(name string, given map[string]string) (Task, error) {
	k, err := Find(name)
	if err != nil {
		return nil, err
	}
	values, err := k.values(given)
	if err != nil {
		return nil, err
	}
	return k.New(values)
}

// Unread is Open without reading or downloading a text: its Info is that of
// Describe and it has no rows, but names and tokens are known.
func Unread(name string, given map[string]string) (Task, error) {
	k, err := Find(name)
	if err != nil {
		return nil, err
	}
	values, err := k.values(given)
	if err != nil {
		return nil, err
	}
	if k.unread != nil {
		return k.unread(values)
	}
	return k.New(values)
}

// Describe tells what a setting is without reading or downloading a text: of a
// language, Pool is unknown and Chance NaN.
func (k *Kind) Describe(given map[string]string) (Info, error) {
	t, err := Unread(k.Name, given)
	if err != nil {
		return Info{}, err
	}
	return t.Info(), nil
}

// values completes what is given by the preset it names.
func (k *Kind) values(given map[string]string) (option.Values, error) {
	chosen := map[string]string{}
	if preset, ok := given["preset"]; ok {
		if k.Presets[preset] == nil && preset != "quick" {
			return nil, fmt.Errorf("task %s: preset = %s: known are %s", k.Name, preset, strings.Join(k.PresetNames(), ", "))
		}
		maps.Copy(chosen, k.Presets[preset])
	}
	maps.Copy(chosen, given)
	delete(chosen, "preset")
	return k.Options.Parse("task "+k.Name, chosen)
}

// PresetNames lists quick, small and paper, then the kind's other presets.
func (k *Kind) PresetNames() []string {
	names := []string{"quick"}
	for _, n := range []string{"small", "paper"} {
		if k.Presets[n] != nil {
			names = append(names, n)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(k.Presets)) {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}
