package lab

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalmarz/kalmarz/viz"
)

// madCategory is the number of a run's task among the preset's categories; -1 if
// it is none of MAD's.
func madCategory(p viz.Preset, r *Record) int {
	task := strings.ReplaceAll(r.key("task"), "-", " ")
	if task == "recall" {
		task = "in-context recall"
	}
	return slices.Index(p.Categories, task)
}

// accuracyOnMAD is accuracy by task, a series a mixer.
func accuracyOnMAD(p viz.Preset, runs []*Record) ([]presetData, error) {
	return onMAD(p, runs, byKey("mixer")), nil
}

func onMAD(p viz.Preset, runs []*Record, group func(*Record) string) []presetData {
	runs = slices.DeleteFunc(slices.Clone(runs), func(r *Record) bool { return madCategory(p, r) < 0 })
	if len(runs) == 0 {
		return nil
	}
	names := seriesNames(runs, group, byKey("task"))
	values := pile{}
	for i, r := range runs {
		values.put(names[i], float64(madCategory(p, r)), r.Seed, atTraining(r, accuracyOf))
	}
	return []presetData{{note: settings(runs), series: values.series(names)}}
}

// noises are the preset's names for how a Kalman filter's noise is made.
var noises = []KeyValue{{"ou", "OU process noise"}, {"none", "no process noise"}, {"zoh", "noise held over the step"}}

// noiseOnMAD is accuracy by task, a series for each way to make the noise.
func noiseOnMAD(p viz.Preset, runs []*Record) ([]presetData, error) {
	const key = "mixer.discretisation"
	runs = having(runs, "mixer", "kalman")
	var ordered []*Record
	names := map[string]string{}
	for i, noise := range noises {
		with := having(runs, key, noise.Key)
		if i < 2 && len(with) == 0 && len(runs) > 0 {
			return nil, fmt.Errorf("none of the %d has discretisation=%s", len(runs), noise.Key)
		}
		ordered, names[noise.Key] = append(ordered, with...), noise.Value
	}
	return onMAD(p, ordered, func(r *Record) string { return names[r.key(key)] }), nil
}
