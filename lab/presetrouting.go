package lab

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalmarz/kalmarz/viz"
)

// routeKey is the key of an experiment that names its router; the router's own
// options follow it after a dot.
const routeKey = "route"

// routedLoss is by how much a router changes the loss on test rows: the
// difference from the run that is the same in all else, seed by seed.
func routedLoss(p viz.Preset, runs []*Record) ([]presetData, error) {
	plain := map[string]*Record{}
	var routed []*Record
	for _, r := range runs {
		switch router := r.key(routeKey); {
		case router == "" || router == "none":
			plain[r.unrouted()] = r
		case slices.Contains(p.Categories, router):
			routed = append(routed, r)
		}
	}
	if len(routed) == 0 {
		return nil, nil
	}
	names := seriesNames(routed, byKey("mixer"), byKey(routeKey))
	values, alone := pile{}, 0
	for i, r := range routed {
		base := plain[r.unrouted()]
		if base == nil {
			alone++
			continue
		}
		x := float64(slices.Index(p.Categories, r.key(routeKey)))
		values.put(names[i], x, r.Seed, atTraining(r, lossOf)-atTraining(base, lossOf))
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("%d have a router, but none of these has a twin with route=none and all else the same, seed included", len(routed))
	}
	note := settings(routed)
	if alone > 0 {
		note += fmt.Sprintf(" Without a twin and left out: %d runs.", alone)
	}
	return []presetData{{note: note, series: values.series(names)}}, nil
}

// unrouted names a run's configuration and seed but for its router.
func (r *Record) unrouted() string {
	var b strings.Builder
	for _, kv := range r.Config {
		if kv.Key != routeKey && !strings.HasPrefix(kv.Key, routeKey+".") && !slices.Contains(notTold, kv.Key) {
			fmt.Fprintln(&b, kv.Key, kv.Value)
		}
	}
	fmt.Fprintln(&b, r.Seed)
	return b.String()
}
