package lab

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalmarz/kalmarz/layers/optim"
	"github.com/kalmarz/kalmarz/layers/option"
)

// chooser is a key whose value is a name in a register and brings options of its
// own, as KEY.OPTION.
type chooser struct {
	key     string
	names   []string
	options func(name string) option.Set
}

// choosers are how a model is trained. The kinds of task and mixer, which come
// before and are what is trained, are resolved apart.
var choosers = []chooser{
	{"optimizer", optim.Names(), func(name string) option.Set {
		k, err := optim.Find(name)
		if err != nil {
			return nil
		}
		return k.Options
	}},
	{"schedule", optim.ScheduleNames(), func(name string) option.Set {
		s, err := optim.FindSchedule(name)
		if err != nil {
			return nil
		}
		return s.Options
	}},
}

// chooserOf returns the chooser to which a canonical key belongs: optimizer for
// optimizer and optimizer.momentum; nil if to none.
func chooserOf(key string) *chooser {
	group, _, _ := strings.Cut(key, ".")
	for i := range choosers {
		if choosers[i].key == group {
			return &choosers[i]
		}
	}
	return nil
}

// find declares an option that any of the chooser's kinds has, or returns nil.
func (c *chooser) find(name string) *option.Option {
	for _, kind := range c.names {
		if o := c.options(kind).Find(name); o != nil {
			return o
		}
	}
	return nil
}

// all lists the canonical keys of the options of all kinds.
func (c *chooser) all() (keys []string) {
	for _, kind := range c.names {
		for _, o := range c.options(kind) {
			if key := c.key + "." + o.Name; !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// parse completes the options of a kind, given those of the chooser by name.
func (c *chooser) parse(kind string, given map[string]string) (option.Values, error) {
	declared := c.options(kind)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if declared.Find(name) != nil {
			continue
		}
		var others []string
		for _, k := range c.names {
			if c.options(k).Find(name) != nil {
				others = append(others, k)
			}
		}
		return nil, fmt.Errorf("%s.%s is an option of %s, not of %s = %s", c.key, name, strings.Join(others, " and "), c.key, kind)
	}
	return declared.Parse(c.key+" "+kind, given)
}

// without removes from given what another kind of the chooser does not have.
func (c *chooser) without(kind string, given map[string]string) {
	declared := c.options(kind)
	maps.DeleteFunc(given, func(key, _ string) bool {
		_, name, dotted := strings.Cut(key, ".")
		return dotted && chooserOf(key) == c && declared.Find(name) == nil
	})
}

// describe lists the kind's options with their values.
func (c *chooser) describe(kind string, values option.Values) (out []KeyValue) {
	for _, o := range c.options(kind) {
		out = append(out, KeyValue{c.key + "." + o.Name, option.Format(values[o.Name])})
	}
	return out
}

// optimiser is the experiment's optimiser with its options.
func (e *Experiment) optimiser() (*optim.Kind, option.Values) {
	k, err := optim.Find(e.Word("optimizer"))
	if err != nil {
		panic(err) // Parse has found it
	}
	return k, e.chosen["optimizer"]
}

// rates are the learning rates of a step, counted from 1: that of lr, and that
// of the parameters which the optimiser leaves to AdamW.
func (e *Experiment) rates(step int) (rate, rest float64) {
	s, err := optim.FindSchedule(e.Word("schedule"))
	if err != nil {
		panic(err) // Parse has found it
	}
	peak, warmup := e.Float("lr"), e.Int("warmup")
	rate = s.Rate(e.chosen["schedule"], peak, e.Float("lr_floor"), warmup, e.Int("steps"), step)
	k, o := e.optimiser()
	return rate, k.RestRate(o, rate, peak, step > warmup)
}
