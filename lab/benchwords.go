package lab

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kalmarz/kalmarz/layers/option"
)

// benchOptions are the keys of bench. A bench takes some of them, with defaults
// of its own.
var benchOptions = option.Set{
	{Name: "B", Kind: option.Int, Default: 8, Range: [2]float64{0, 1 << 30}, Help: "rows; of models 0 = by the model's width"},
	{Name: "T", Kind: option.Word, Default: "", Help: "tokens, or several lengths with commas; for decode what came before"},
	{Name: "H", Kind: option.Int, Default: 2, Range: positive, Help: "heads"},
	{Name: "D", Kind: option.Int, Default: 32, Range: positive, Help: "key and value width of a head"},
	{Name: "M", Kind: option.Int, Default: 64, Range: positive, Help: "channels of a filter or a scan"},
	{Name: "S", Kind: option.Int, Default: 16, Range: positive, Help: "states a channel"},
	{Name: "decay", Kind: option.Word, Default: "all", Choices: []string{"all", "none", "head", "channel", "additive"}, Help: "which recurrences: the delta rule without decay, with one a head or a channel, or without erasing"},
	{Name: "dtype", Kind: option.Word, Default: "float32", Choices: []string{"float32", "bfloat16"}, Help: "of the inputs; bfloat16 ones of the recurrence also in the narrow form, which stores in bfloat16 what lies between products"},
	{Name: "form", Kind: option.Word, Default: "all", Choices: []string{"all", "chosen", "recurrent", "chunk", "loop", "tree", "levels"}, Help: "ways of evaluation: all, the one that is chosen by itself, or one kind"},
	{Name: "chunks", Kind: option.Word, Default: "16,32,64", Help: "chunk lengths of the matrix recurrence"},
	{Name: "pass", Kind: option.Word, Default: "both", Choices: []string{"both", "forward", "gradients"}, Help: "forward, with all gradients, or both"},
	{Name: "mixers", Kind: option.Word, Default: "softmax,mamba2,gdn,kaczmarz", Help: "mixers with commas, or all"},
	{Name: "model", Kind: option.Word, Default: "2x64", Help: "layers x width, as 2x256 or 12x768, with a SwiGLU of 8/3 the width"},
	{Name: "vocab", Kind: option.Int, Default: 0, Range: [2]float64{0, 1 << 19}, Help: "vocabulary; 0 = by the model's width: 64, 8192 or 32768"},
	{Name: "heads", Kind: option.Int, Default: 0, Range: [2]float64{0, 1024}, Help: "heads of a model's mixers that have them; 0 = width/64, and at least 2"},
	{Name: "precision", Kind: option.Word, Default: "", Help: "the experiments' precision"},
	{Name: "steps", Kind: option.Int, Default: 0, Range: [2]float64{0, 64}, Help: "tokens that decode takes in one call; 0 = 1, or 4 on a GPU"},
	{Name: "repeat", Kind: option.Int, Default: 20, Range: positive, Help: "timed samples of a row at most; the median is printed"},
	{Name: "budget", Kind: option.Float, Default: 2.0, Range: [2]float64{0.001, 3600}, Help: "seconds for a row's samples; the overview takes 0.25"},
	{Name: "ahead", Kind: option.Int, Default: 0, Range: [2]float64{0, 16}, Help: "calls of an operator under way at once; 0 = 1, or 2 on a GPU, which hides the launch"},
}

// general are the keys that are of every bench; preset is no option of its own.
var general = []string{"repeat", "budget", "ahead", "preset"}

// preset is a shape in the words of perf tables: b16t2048.
var preset = regexp.MustCompile(`^b([1-9][0-9]*)t([1-9][0-9]*)$`)

// benchQuery is what the words of bench ask for.
type benchQuery struct {
	benches            []chosenBench
	overview           bool
	limits             benchLimits
	json               bool
	figure, save, from string
}

type chosenBench struct {
	bench
	values option.Values
}

func findBench(name string) (*bench, error) {
	var names []string
	for i := range benches {
		if benches[i].name == name {
			return &benches[i], nil
		}
		names = append(names, benches[i].name)
	}
	return nil, fmt.Errorf("bench %q%s: known are %s", name, nearest(name, names), strings.Join(names, ", "))
}

// readBench reads names, keys and flags. Without names it takes all benches
// that have the given keys; without either, an overview.
func readBench(args []string) (*benchQuery, error) {
	q := &benchQuery{}
	words, err := readFlags(args, map[string]*string{"figure": &q.figure, "save": &q.save, "from": &q.from}, map[string]*bool{"json": &q.json})
	if err != nil {
		return nil, err
	}
	given := map[string]string{}
	var named []bench
	for _, w := range words {
		key, value, isKey := strings.Cut(w, "=")
		if !isKey {
			b, err := findBench(w)
			if err != nil {
				return nil, err
			}
			named = append(named, *b)
			continue
		}
		if _, twice := given[key]; twice {
			return nil, fmt.Errorf("bench: %s is given twice", key)
		}
		if benchOptions.Find(key) == nil && key != "preset" {
			known := append(benchOptions.Names(), "preset")
			return nil, fmt.Errorf("bench: unknown key %q%s: known are %s", key, nearest(key, known), strings.Join(known, ", "))
		}
		given[key] = value
	}
	if q.from != "" && len(words) > 0 {
		return nil, fmt.Errorf("bench: %q: --from shows what is kept and takes no words", words[0])
	}
	q.overview = len(named) == 0 && len(given) == 0
	if q.benches, err = chooseBenches(named, given); err != nil {
		return nil, err
	}
	o := q.benches[0].values
	q.limits = benchLimits{repeat: o.Int("repeat"), budget: o.Float("budget"), ahead: o.Int("ahead")}
	if q.overview {
		q.limits.budget = 0.25
	}
	return q, nil
}

// chooseBenches gives every bench its values: its own defaults, then those of a
// preset, then what is given.
func chooseBenches(named []bench, given map[string]string) (out []chosenBench, err error) {
	shape, has := given["preset"]
	m := preset.FindStringSubmatch(shape)
	if has && m == nil {
		return nil, fmt.Errorf("bench: preset = %s: must be a shape like b16t2048", shape)
	}
	candidates := named
	if len(named) == 0 {
		candidates = slices.DeleteFunc(slices.Clone(benches), func(b bench) bool {
			return has && b.published == nil || len(b.foreign(given)) > 0
		})
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(candidates, func(b bench) bool { return b.takes(key) }) {
			return nil, fmt.Errorf("bench: no bench here has all of %s; help bench lists their keys", strings.Join(slices.Sorted(maps.Keys(given)), ", "))
		}
	}
	for _, b := range candidates {
		if has && b.published == nil {
			return nil, fmt.Errorf("bench %s: presets are of operators: it takes B, T and model", b.name)
		}
		text := maps.Clone(b.usual)
		if has {
			maps.Copy(text, b.published)
			text["B"], text["T"] = m[1], m[2]
		}
		for key, value := range given {
			if b.takes(key) && key != "preset" {
				text[key] = value
			}
		}
		values, err := benchOptions.Parse("bench "+b.name, text)
		if err != nil {
			return nil, err
		}
		if values.Int("B") == 0 && b.usual["B"] != "0" {
			return nil, fmt.Errorf("bench %s: B = 0: must be at least 1", b.name)
		}
		out = append(out, chosenBench{b, values})
	}
	return out, nil
}

// takes tells whether a bench reads a key.
func (b bench) takes(key string) bool {
	return slices.Contains(b.keys, key) || slices.Contains(general, key)
}

// foreign are the keys among those given that a bench does not read.
func (b bench) foreign(given map[string]string) (out []string) {
	for key := range given {
		if !b.takes(key) {
			out = append(out, key)
		}
	}
	return out
}

// lengths reads T; usual stands where it is empty.
func lengths(text, usual string) ([]int, error) {
	if text == "" {
		text = usual
	}
	var out []int
	for _, t := range strings.Split(text, ",") {
		n, err := strconv.Atoi(t)
		if err != nil || n < 1 || n > 1<<26 || slices.Contains(out, n) {
			return nil, fmt.Errorf("T = %s: must be different whole numbers of tokens with commas", text)
		}
		out = append(out, n)
	}
	return out, nil
}

// benchKeys is what help says of the keys.
func benchKeys() string {
	t := &table{header: []string{"bench", "", "keys"}}
	for _, b := range benches {
		t.add(b.name, b.help, strings.Join(b.keys, " "))
	}
	return t.text() + "\n" + optionTable("", benchOptions) + "preset  b16t2048 and the like: B, T and, for operators, the sizes and the dtype of published tables\n"
}

// benchWords completes the keys of bench.
func benchWords(words []string, partial string) []string {
	given := map[string]bool{}
	for _, w := range words {
		key, _, _ := strings.Cut(w, "=")
		given[key] = true
	}
	out := valueWords("preset", partial, []string{"b16t2048", "b4t8192", "b1t32768", "b8t2048"})
	for _, o := range benchOptions {
		if given[o.Name] {
			continue
		}
		values := optionValues(o.Name, o, partial)
		if o.Name == "mixers" {
			_, value, _ := strings.Cut(partial, "=")
			values = append(listed(mixerNames)(nil, value), "all")
		}
		if o.Name == "model" {
			values = []string{"2x64", "2x256", "12x768"}
		}
		out = append(out, valueWords(o.Name, partial, values)...)
	}
	return out
}

func benchNames([]string, string) (names []string) {
	for _, b := range benches {
		names = append(names, b.name)
	}
	return names
}
