package lab

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/model"
	"github.com/kalmarz/kalmarz/layers/option"
	"github.com/kalmarz/kalmarz/layers/route"
)

// mixersOf are the kinds that a stack's pattern names.
func mixersOf(p *model.Pattern) (kinds []*mixer.Kind, err error) {
	for _, name := range p.Names() {
		k, err := findMixer(name)
		if at := p.Column(name); err != nil && len(p.Names()) > 1 && at > 0 {
			return nil, fmt.Errorf("mixer: column %d: %w", at, err)
		}
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, k)
	}
	return kinds, nil
}

// layersOf are the kinds of the layers' mixers. A published stack adds its options
// to mix, where these are not given.
func layersOf(p *model.Pattern, n int, kinds []*mixer.Kind, mix map[string]string) (layers []*mixer.Kind, err error) {
	names, err := p.Layers(n)
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	for _, name := range names {
		at := slices.IndexFunc(kinds, func(k *mixer.Kind) bool { return k.Name == name })
		layers = append(layers, kinds[at])
	}
	if p.Hybrid != nil {
		for of, set := range p.Hybrid.Options {
			for name, value := range set {
				_, given := mix[name]
				_, one := mix[name+"@"+of]
				if slices.Contains(names, of) && !given && !one {
					mix[name+"@"+of] = value
				}
			}
		}
	}
	return layers, checkLayerKeys(layers, mix)
}

// layerOf returns the layer, counted from 1, of an option NAME@LAYER.
func layerOf(key string) (name string, layer int, ok bool) {
	name, of, _ := strings.Cut(key, "@")
	layer, err := strconv.Atoi(of)
	return name, layer, err == nil && strconv.Itoa(layer) == of
}

// checkLayerKeys makes sure that options of one layer have that layer and it
// them.
func checkLayerKeys(layers []*mixer.Kind, mix map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(mix)) {
		name, i, ok := layerOf(key)
		switch {
		case !ok:
		case i < 1 || i > len(layers):
			return fmt.Errorf("mixer.%s: there is no layer %d: must be in [1, %d]", key, i, len(layers))
		case layers[i-1].Options.Find(name) == nil:
			return fmt.Errorf("mixer.%s: layer %d is %s, which has no %s", key, i, layers[i-1].Name, name)
		}
	}
	return nil
}

// optionsOf are the options of a layer, counted from 0, among those of all:
// "heads" is for every mixer that has it, "heads@gdn" for gdn before that, and
// "heads@2" for the second layer before both.
func optionsOf(k *mixer.Kind, layer int, mix map[string]string) map[string]string {
	out := only(mix, k.Options)
	for _, of := range []string{k.Name, strconv.Itoa(layer + 1)} {
		for key, value := range mix {
			if name, who, _ := strings.Cut(key, "@"); who == of {
				out[name] = value
			}
		}
	}
	return out
}

// describeLayers lists the options of single layers.
func (e *Experiment) describeLayers(layers []*mixer.Kind, mix map[string]string) error {
	keys := slices.Sorted(maps.Keys(mix))
	slices.SortStableFunc(keys, func(a, b string) int {
		_, i, _ := layerOf(a)
		_, j, _ := layerOf(b)
		return i - j
	})
	for _, key := range keys {
		name, i, ok := layerOf(key)
		if !ok {
			continue
		}
		x, err := layers[i-1].Options.Find(name).Parse(mix[key])
		if err != nil {
			return fmt.Errorf("mixer.%s = %s: %w", key, mix[key], err)
		}
		e.complete = append(e.complete, KeyValue{"mixer." + key, option.Format(x)})
		delete(e.live, "mixer."+name) // layers have it with several values
	}
	return nil
}

// describeRoute lists the router's options; where nothing is routed there is no
// line of it.
func (e *Experiment) describeRoute(given map[string]string) error {
	name := e.Word("route")
	if name == "none" {
		return nil
	}
	k, err := route.Find(name)
	if err != nil {
		return err
	}
	values, err := k.Options.Parse("route "+name, given)
	for _, o := range k.Options {
		e.complete = append(e.complete, KeyValue{"route." + o.Name, option.Format(values[o.Name])})
	}
	return err
}

// routeOption is the declaration of a router's option, which has the same kind in
// all routers that have it.
func routeOption(name string) *option.Option {
	for _, k := range route.Registry {
		if o := k.Options.Find(name); o != nil {
			return o
		}
	}
	return nil
}

// routeKeys are the keys of all routers' options.
func routeKeys() (keys []string) {
	for _, k := range route.Registry {
		for _, o := range k.Options {
			if key := "route." + o.Name; !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}
