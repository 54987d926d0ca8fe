// Package lab runs experiments: it turns key=value words into a task, a model
// and a training run, varies one key at a time, and keeps what comes out.
package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/kalmarz/kalmarz/datasets"
	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/model"
	"github.com/kalmarz/kalmarz/layers/optim"
	"github.com/kalmarz/kalmarz/layers/option"
	"github.com/kalmarz/kalmarz/layers/route"
)

var (
	positive    = [2]float64{1, 1 << 30}
	nonNegative = [2]float64{0, math.Inf(1)}
)

// options are the keys of every experiment. The task's own keys are task.NAME,
// the mixers' mixer.NAME and the router's route.NAME.
var options = option.Set{
	{Name: "task", Kind: option.Word, Default: "mqar", Help: "what is learned; tasks lists them"},
	{Name: "mixer", Kind: option.Word, Default: "kaczmarz", Help: "the blocks' mixers: one, several in turn with commas, or a pattern; mixers and hybrids list them"},
	{Name: "width", Kind: option.Int, Default: 32, Range: positive, Help: "model width"},
	{Name: "layers", Kind: option.Int, Default: 1, Range: [2]float64{1, 1024}, Help: "blocks"},
	{Name: "mlp", Kind: option.Int, Default: 0, Range: [2]float64{0, 1 << 30}, Help: "hidden width of each block's SwiGLU; 0 = none"},
	{Name: "route", Kind: option.Word, Default: "none", Choices: route.Names(), Help: "what layers pass to others besides the residual stream; routers lists them"},
	{Name: "sizes", Kind: option.Word, Default: "lab", Choices: []string{"lab", "own"}, Help: "widths of the mixers' heads: small ones for a laboratory, or each mixer's own"},
	{Name: "norm_eps", Kind: option.Float, Default: 1e-5, Range: nonNegative, Help: "ε of the RMSNorms"},
	{Name: "tied", Kind: option.Bool, Default: false, Help: "the head is the embedding's transpose"},
	{Name: "init", Kind: option.Word, Default: "torch", Choices: []string{"torch", "normal", "xavier"}, Help: "projections: uniform within 1/√in, N(0, 0.02²), or uniform within 2^-2.5 √(6/(in+out))"},
	{Name: "residual_init", Kind: option.Word, Default: "plain", Choices: []string{"plain", "scaled"}, Help: "output projections of mixers and MLPs: as the others, or divided by √(2 layers)"},
	{Name: "steps", Kind: option.Int, Default: 400, Range: positive, Help: "optimiser steps"},
	{Name: "batch", Kind: option.Int, Default: 32, Range: positive, Help: "rows a step"},
	{Name: "accumulate", Kind: option.Int, Default: 1, Range: positive, Help: "equal parts of a batch whose gradients are added up, one after the other: the same step in less memory"},
	{Name: "precision", Kind: option.Word, Default: "float32", Choices: []string{"float32", "bf16", "float64"}, Help: "bf16: of projections and what mixers read; parameters, norms, states, logits and loss stay in float32"},
	{Name: "optimizer", Kind: option.Word, Default: "adamw", Choices: optim.Names(), Help: "what updates the hidden matrices; AdamW updates the rest"},
	{Name: "schedule", Kind: option.Word, Default: "cosine", Choices: optim.ScheduleNames(), Help: "learning rate after the warm-up"},
	{Name: "lr", Kind: option.Float, Default: 1e-2, Range: nonNegative, Help: "peak learning rate"},
	{Name: "warmup", Kind: option.Int, Default: 20, Range: [2]float64{0, 1 << 30}, Help: "steps of linear warm-up"},
	{Name: "lr_floor", Kind: option.Float, Default: 0.01, Range: [2]float64{0, 1}, Help: "learning rate at the end of the schedule / lr"},
	{Name: "wd", Kind: option.Float, Default: 0.01, Range: nonNegative, Help: "decoupled weight decay of matrices and embeddings"},
	{Name: "beta1", Kind: option.Float, Default: 0.9, Range: [2]float64{0, 1}, Help: "AdamW's β₁"},
	{Name: "beta2", Kind: option.Float, Default: 0.95, Range: [2]float64{0, 1}, Help: "AdamW's β₂"},
	{Name: "aux", Kind: option.Int, Default: 0, Range: [2]float64{0, 1 << 20}, Help: "task words: rows of two letters whose loss is added at every step"},
	{Name: "clip", Kind: option.Float, Default: 1.0, Range: nonNegative, Help: "limit of the gradients' joint norm; 0 = none"},
	{Name: "seed", Kind: option.Int, Default: 1, Range: [2]float64{0, math.MaxInt32}, Help: "first seed, of parameters and data"},
	{Name: "seeds", Kind: option.Int, Default: 3, Range: [2]float64{1, 1000}, Help: "runs of each cell, with seeds counted up"},
	{Name: "eval_rows", Kind: option.Int, Default: 256, Range: positive, Help: "test rows at each length"},
	{Name: "lengths", Kind: option.Word, Default: "1,2,4,8", Help: "test lengths as multiples of the training length"},
	{Name: "save_every", Kind: option.Int, Default: 0, Range: [2]float64{0, 1 << 30}, Help: "steps between checkpoints; 0 = one every 30 s while the run lasts, and one at the end"},
	{Name: "keep", Kind: option.Int, Default: 1, Range: [2]float64{1, 1000}, Help: "checkpoints kept"},
	{Name: "chunk", Kind: option.Int, Default: 0, Range: [2]float64{0, 4096}, Help: "chunk length of recurrences, a power of two; 0 = chosen by length and backend"},
	{Name: "form", Kind: option.Word, Default: "auto", Choices: []string{"auto", "recurrent", "kernel"}, Help: "how recurrences and attention are evaluated; recurrent: attention with the scores of all pairs; kernel: by fused kernels where there are any, else as auto"},
}

// Experiment is one complete configuration: task, model and training.
type Experiment struct {
	option.Values                          // of options
	Task          datasets.Task            // built from task.*
	Model         *model.Model             // built from mixer.* and the task's vocabulary
	chosen        map[string]option.Values // of choosers
	given         map[string]string        // canonical key -> text
	live          map[string]bool          // canonical keys that compiled graphs take as inputs
	complete      []KeyValue
}

// KeyValue is one line of a configuration.
type KeyValue struct{ Key, Value string }

// Parse makes an experiment from words "key=value". A bare key may stand for
// task.KEY or mixer.KEY where only one of them exists. One word may be a file
// NAME.toml, whose values the others then override.
func Parse(words []string) (*Experiment, error) {
	file, words, err := splitFile(words)
	if err != nil {
		return nil, err
	}
	raw := map[string]string{}
	for _, w := range words {
		key, value, ok := strings.Cut(w, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("%q: expected key=value", w)
		}
		if _, twice := raw[key]; twice {
			return nil, fmt.Errorf("%s is given twice", key)
		}
		raw[key] = value
	}
	if file != "" {
		return fromFile(file, raw)
	}
	return build(raw)
}

// With returns the experiment with one canonical key changed.
func (e *Experiment) With(key, value string) (*Experiment, error) {
	given := maps.Clone(e.given)
	if c := chooserOf(key); c != nil && key == c.key {
		c.without(value, given)
	}
	given[key] = value
	return build(given)
}

func build(raw map[string]string) (*Experiment, error) { return buildWith(raw, datasets.Open) }

// buildWith is build with another way to open the task.
func buildWith(raw map[string]string, open opener) (*Experiment, error) {
	e := &Experiment{given: map[string]string{}, chosen: map[string]option.Values{}, live: map[string]bool{}}
	taskKind, pattern, kinds, err := kindsAndPattern(raw)
	if err != nil {
		return nil, err
	}
	top, task, mix, routing := map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}
	training := map[string]map[string]string{"optimizer": {}, "schedule": {}}
	for _, key := range slices.Sorted(maps.Keys(raw)) {
		canonical, err := resolve(key, taskKind, kinds)
		if err != nil {
			return nil, err
		}
		if _, twice := e.given[canonical]; twice {
			return nil, fmt.Errorf("%s is given twice, once as %s", canonical, key)
		}
		e.given[canonical] = raw[key]
		group, name, dotted := strings.Cut(canonical, ".")
		switch {
		case !dotted:
			top[canonical] = raw[key]
		case group == "task":
			task[name] = raw[key]
		case chooserOf(group) != nil:
			training[group][name] = raw[key]
		case group == "route":
			routing[name] = raw[key]
		default:
			mix[name] = raw[key]
		}
	}
	top["mixer"] = pattern.String()
	if e.Values, err = options.Parse("experiment", top); err != nil {
		return nil, err
	}
	for _, c := range choosers {
		if e.chosen[c.key], err = c.parse(e.Word(c.key), training[c.key]); err != nil {
			return nil, err
		}
	}
	if n, parts := e.Int("batch"), e.Int("accumulate"); n%parts != 0 {
		return nil, fmt.Errorf("experiment: accumulate = %d: must divide batch = %d", parts, n)
	} else if rows := e.Int("aux"); rows%parts != 0 {
		return nil, fmt.Errorf("experiment: accumulate = %d: must divide aux = %d", parts, rows)
	}
	if c := e.Int("chunk"); c&(c-1) != 0 {
		return nil, fmt.Errorf("experiment: chunk = %d: must be a power of two", c)
	}
	layers, err := layersOf(pattern, e.Int("layers"), kinds, mix)
	if err != nil {
		return nil, err
	}
	if _, err := e.Lengths(); err != nil {
		return nil, err
	}
	if e.Task, err = open(taskKind.Name, task); err != nil {
		return nil, err
	}
	if rows := e.Int("aux"); rows > 0 {
		if taskKind.Name != "words" {
			return nil, fmt.Errorf("experiment: aux = %d: only the task words has two-letter rows, not %s", rows, taskKind.Name)
		}
		short := maps.Clone(task)
		short["len"] = "2"
		pairs, err := open(taskKind.Name, short)
		if err != nil {
			return nil, err
		}
		e.Task = datasets.WithExtra(e.Task, pairs, rows)
	}
	if e.Word("sizes") == "lab" {
		useLabSizes(kinds, mix)
	}
	if err := e.buildModel(layers, mix, routing); err != nil {
		return nil, err
	}
	for _, o := range options {
		if o.Name == "route" && e.Word("route") == "none" {
			continue
		}
		e.complete = append(e.complete, KeyValue{o.Name, option.Format(e.Values[o.Name])})
	}
	for _, c := range choosers {
		e.complete = append(e.complete, c.describe(e.Word(c.key), e.chosen[c.key])...)
	}
	for _, o := range taskKind.Options {
		e.complete = append(e.complete, KeyValue{"task." + o.Name, option.Format(e.Task.Info().Values[o.Name])})
	}
	if err := e.describeMixers(kinds, mix); err != nil {
		return nil, err
	}
	if err := e.describeLayers(layers, mix); err != nil {
		return nil, err
	}
	return e, e.describeRoute(routing)
}

func (e *Experiment) buildModel(layers []*mixer.Kind, mix, routing map[string]string) error {
	info := e.Task.Info()
	c := model.Config{
		Vocab: info.Vocab, Classes: info.Classes, Width: e.Int("width"), MLP: e.Int("mlp"),
		NormEps: e.Float("norm_eps"), Tied: e.Bool("tied"), FromLast: info.FromLast, BFloat16: e.Word("precision") == "bf16",
		Route: e.Word("route"), RouteOptions: routing,
	}
	for i, k := range layers {
		c.Layers = append(c.Layers, model.Layer{Mixer: k.Name, Options: optionsOf(k, i, mix)})
	}
	var err error
	e.Model, err = model.New(c)
	return err
}

// useLabSizes sets the sizes of heads that were not asked for: at the mixers'
// own ones a model of laboratory width would have heads too narrow to recall.
func useLabSizes(kinds []*mixer.Kind, mix map[string]string) {
	for _, k := range kinds {
		sizes := map[string]string{"heads": "2", "expand_k": "1", "expand_v": "1"}
		if k.Options.Find("heads") == nil {
			sizes = map[string]string{"dk": "16", "dv": "16"}
		}
		for name, value := range only(sizes, k.Options) {
			if _, given := mix[name]; !given {
				mix[name] = value
			}
		}
	}
}

// describeMixers lists the mixers' options, with the mixer's name where several
// mixers share a model.
func (e *Experiment) describeMixers(kinds []*mixer.Kind, mix map[string]string) error {
	seen := map[string]bool{}
	for _, k := range kinds {
		values, err := k.Options.Parse("mixer "+k.Name, optionsOf(k, -1, mix))
		if err != nil {
			return err
		}
		for _, o := range k.Options {
			key := "mixer." + o.Name
			if seen[key] && len(kinds) > 1 {
				key = "mixer." + o.Name + "@" + k.Name // the same option may have another default there
			}
			if seen[key] {
				continue
			}
			seen[key] = true
			e.complete = append(e.complete, KeyValue{key, option.Format(values[o.Name])})
			// Mixers of one model may have an option in common with other values.
			if _, number := values[o.Name].(float64); o.Live && number && len(kinds) == 1 {
				e.live[key] = true
			}
		}
	}
	return nil
}

func only(given map[string]string, declared option.Set) map[string]string {
	out := map[string]string{}
	for k, v := range given {
		if declared.Find(k) != nil {
			out[k] = v
		}
	}
	return out
}

// Complete lists every key with its value, defaults included.
func (e *Experiment) Complete() []KeyValue { return slices.Clone(e.complete) }

// words are key=value words that make this experiment.
func (e *Experiment) words() []string {
	out := []string{}
	for _, key := range slices.Sorted(maps.Keys(e.given)) {
		out = append(out, key+"="+e.given[key])
	}
	return out
}

// Diff lists the keys in which two experiments differ.
func Diff(a, b *Experiment) []string {
	av, bv := map[string]string{}, map[string]string{}
	for _, kv := range a.complete {
		av[kv.Key] = kv.Value
	}
	for _, kv := range b.complete {
		bv[kv.Key] = kv.Value
	}
	var keys []string
	for k := range av {
		if other, ok := bv[k]; !ok || other != av[k] {
			keys = append(keys, k)
		}
	}
	for k := range bv {
		if _, ok := av[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// graphKey is equal for experiments that can share compiled graphs: it leaves
// out what graphs take as inputs.
func (e *Experiment) graphKey() string {
	var b strings.Builder
	for _, kv := range e.complete {
		switch {
		case e.live[kv.Key]:
			kv.Value = "#"
		case strings.HasPrefix(kv.Key, "schedule.") || kv.Key == "optimizer.rest_lr" || kv.Key == "optimizer.rest_schedule":
			continue // only the learning rates, which are inputs, follow from them
		case slices.Contains([]string{"steps", "schedule", "lr", "warmup", "lr_floor", "seed", "seeds", "eval_rows", "lengths", "save_every", "keep"}, kv.Key):
			continue
		}
		fmt.Fprintln(&b, kv.Key, kv.Value)
	}
	return b.String()
}

// Lengths are the test lengths as multiples of the training length.
func (e *Experiment) Lengths() ([]int, error) {
	var out []int
	for _, s := range strings.Split(e.Word("lengths"), ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || len(out) > 0 && n <= out[len(out)-1] {
			return nil, fmt.Errorf("experiment: lengths = %s: must be rising whole numbers with commas, as 1,2,4,8", e.Word("lengths"))
		}
		out = append(out, n)
	}
	return out, nil
}

func (e *Experiment) form() delta.Form {
	return delta.Form{Recurrent: e.Word("form") == "recurrent", Kernel: e.Word("form") == "kernel", Chunk: e.Int("chunk")}
}

// dtype is the type of parameters and of all that is not narrowed.
func (e *Experiment) dtype() dtypes.DType {
	if e.Word("precision") == "float64" {
		return dtypes.Float64
	}
	return dtypes.Float32
}

// hash names a configuration in eight characters.
func (e *Experiment) hash() string {
	h := sha256.Sum256(fmt.Append(nil, e.complete))
	return hex.EncodeToString(h[:])[:8]
}
