package lab

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalmarz/kalmarz/viz"
)

// presetSource says how runs fill a preset of viz.
type presetSource struct {
	name   string // of the preset
	needs  string // what runs it takes
	make   string // a command that makes some
	series presetSeries
}

// presetSeries takes what a preset needs out of runs, the oldest first. No data
// means that none of the runs is of the kind; an error says what they lack.
type presetSeries func(p viz.Preset, runs []*Record) ([]presetData, error)

// presetData is what one figure shows of runs.
type presetData struct {
	suffix string // of the file's name, where a preset gives several figures
	note   string // for the caption
	series []viz.Series
}

// presetSources is the register: a preset of viz joins with its line here.
var presetSources = []presetSource{
	{"kaczmarz-mqar", "runs of task=mqar tested beyond their training length", "ablate mixer kaczmarz gdn task=mqar lengths=1,2,4,8", ofLength("mqar", accuracyOf)},
	{"kaczmarz-perplexity", "runs of task=text tested beyond their training length", "ablate mixer kaczmarz gdn task=text lengths=1,2,4,8", ofLength("text", func(e Evaluation) Number { return e.Perplexity })},
	{"kalman-a5", "runs of task=words group=a5 of several depths, for each length", "ablate depth 1 2 3 4 mixer=kalman task=words group=a5 len=3 lengths=1", depthOfWords},
	{"kalman-mad", "runs of MAD's tasks: compression, fuzzy-recall, recall, memorization, noisy-recall, selective-copy", "ablate mixer kalman gdn task=compression lengths=1", accuracyOnMAD},
	{"kalman-ou", "runs of mixer=kalman on MAD's tasks with discretisation=ou and with none", "ablate ou ou none task=selective-copy lengths=1", noiseOnMAD},
	{"routing-loss", "runs with a router (key route) and with route=none, with the same seeds", "ablate route none cler cler-h clvr mixer=gdn layers=4", routedLoss},
}

func presetNames() (names []string) {
	for _, p := range presetSources {
		names = append(names, p.name)
	}
	return names
}

// findPresets returns the preset of that name, or all of a paper: kalman is
// kalman-a5, kalman-mad and kalman-ou.
func findPresets(name string) ([]presetSource, error) {
	var of []presetSource
	for _, p := range presetSources {
		if p.name == name {
			return []presetSource{p}, nil
		}
		if paper, _, _ := strings.Cut(p.name, "-"); paper == name {
			of = append(of, p)
		}
	}
	if of == nil {
		return nil, fmt.Errorf("unknown preset %q%s: known are %s", name, nearest(name, presetNames()), strings.Join(presetNames(), ", "))
	}
	return of, nil
}

// presetList says of each preset what it shows, takes and can be made by.
func presetList() (string, error) {
	var b strings.Builder
	for _, p := range presetSources {
		v, err := viz.PresetNamed(p.name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s (arXiv %s): %s\n  from %s\n  as made by: %s\n", p.name, v.Paper, v.Doc, p.needs, p.make)
	}
	return b.String(), nil
}

// figures draws the preset from runs. Runs that it does not take are passed over.
func (p presetSource) figures(runs []*Record) ([]namedFigure, error) {
	preset, err := viz.PresetNamed(p.name)
	if err != nil {
		return nil, err
	}
	all, err := p.series(preset, runs)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("none of the %d runs is one", len(runs))
	}
	if err != nil {
		return nil, fmt.Errorf("preset %s takes %s: %w; to make some: %s", p.name, p.needs, err, p.make)
	}
	var out []namedFigure
	for _, d := range all {
		f := preset.Figure(d.series...)
		f.Caption = strings.TrimSpace(d.note + " " + f.Caption)
		out = append(out, namedFigure{p.name + d.suffix, f})
	}
	return out, nil
}

// settings says for a caption what runs have in common.
func settings(runs []*Record) string {
	var parts []string
	for _, key := range []string{"task", "task.len", "mixer", "width", "layers", "steps"} {
		var values []string
		for _, r := range runs {
			if v := r.key(key); v != "" && !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		if len(values) == 1 {
			parts = append(parts, bare(key)+" "+values[0])
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Own runs: " + strings.Join(parts, ", ") + "."
}
