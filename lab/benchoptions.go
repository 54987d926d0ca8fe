package lab

import (
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
	{Name: "decay", Kind: option.Word, Default: "all", Choices: []string{"all", "none", "head", "rate", "channel", "channel-rate", "additive", "channel-additive"}, Help: "which recurrences: the delta rule without decay, with one a head or a channel, also by rates, and without erasing"},
	{Name: "dtype", Kind: option.Word, Default: "float32", Choices: []string{"float32", "bfloat16"}, Help: "of the inputs; bfloat16 ones of the recurrence also in the narrow form, which stores in bfloat16 what lies between products"},
	{Name: "form", Kind: option.Word, Default: "all", Choices: []string{"all", "chosen", "recurrent", "chunk", "kernel", "loop", "tree", "levels"}, Help: "ways of evaluation: all but kernels, the one that is chosen by itself, or one kind"},
	{Name: "chunks", Kind: option.Word, Default: "16,32,64", Help: "chunk lengths of the matrix recurrence"},
	{Name: "plan", Kind: option.Word, Default: "", Help: "how kernels are cut: of delta columns, warps, stages, segments, of one-chunk programs warps, stages, channels, columns and registers, registers of the inverse's, as 64,4,2,0,4,2,32,128,0,128; of filter channels, tokens read ahead, tokens of a turn, chunks, registers of the reverse pass, as 8,4,8,1,0; of attention rows, tokens of a turn, warps, stages and registers of the forward pass, the gradient of q and those of k and v, as 128,64,8,3,0,64,64,4,2,0,64,64,4,2,0; empty = the built-in choice"},
	{Name: "pass", Kind: option.Word, Default: "both", Choices: []string{"both", "forward", "gradients"}, Help: "forward, with all gradients, or both"},
	{Name: "mixers", Kind: option.Word, Default: "softmax,mamba2,gdn,kaczmarz", Help: "mixers with commas, or all"},
	{Name: "model", Kind: option.Word, Default: "2x64", Help: "layers x width, as 2x256 or 12x768, with a SwiGLU of 8/3 the width"},
	{Name: "vocab", Kind: option.Int, Default: 0, Range: [2]float64{0, 1 << 19}, Help: "vocabulary; 0 = by the model's width: 64, 8192 or 32768"},
	{Name: "heads", Kind: option.Int, Default: 0, Range: [2]float64{0, 1024}, Help: "heads of a model's mixers that have them; 0 = width/64, and at least 2"},
	{Name: "precision", Kind: option.Word, Default: "float32", Choices: []string{"float32", "bf16"}, Help: "of a model's projections and what its mixers read"},
	{Name: "steps", Kind: option.Int, Default: 0, Range: [2]float64{0, 64}, Help: "tokens that decode takes in one call; 0 = 1, or 4 on a GPU"},
	{Name: "repeat", Kind: option.Int, Default: 20, Range: positive, Help: "timed samples of a row at most; the median is printed"},
	{Name: "budget", Kind: option.Float, Default: 2.0, Range: [2]float64{0.001, 3600}, Help: "seconds for a row's samples; the overview takes 0.25"},
	{Name: "ahead", Kind: option.Int, Default: 0, Range: [2]float64{0, 16}, Help: "calls of an operator under way at once; 0 = 1, or 2 on a GPU, which hides the launch"},
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
