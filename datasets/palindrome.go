package datasets

import (
	"fmt"
	"math/rand/v2"

	"github.com/kalmarz/kalmarz/layers/option"
)

// Palindrome, after Kimi Linear (arXiv 2510.26692):
//
//	3 1 4 1 | 1 4 1 3
//	          4 1 3       targets, the next token; with bar=true also at |
var palindromeKind = &Kind{
	Name: "palindrome",
	Doc:  "give a sequence back in reverse",
	Options: option.Set{
		{Name: "symbols", Kind: option.Int, Default: 16, Range: [2]float64{1, 1 << 16}, Help: "V: symbols; one more id is the bar"},
		{Name: "len", Kind: option.Int, Default: 17, Range: [2]float64{5, 1 << 19}, Help: "T: 2n+1 positions for n symbols; an even length loses one"},
		{Name: "bar", Kind: option.Bool, Default: true, Help: "score the first reversed symbol too, at the bar"},
	},
	Presets: map[string]map[string]string{
		"small":     {"symbols": "32", "len": "65", "bar": "false"},
		"paper":     {"symbols": "64", "len": "1024", "bar": "false"},
		"kimi-256":  {"symbols": "64", "len": "256", "bar": "false"},
		"kimi-512":  {"symbols": "64", "len": "512", "bar": "false"},
		"kimi-2048": {"symbols": "64", "len": "2048", "bar": "false"},
	},
	New: newPalindrome,
}

func newPalindrome(v option.Values) (Task, error) {
	V, n := v.Int("symbols"), (v.Int("len")-1)/2
	bar, first := int32(V), n+1
	if v.Bool("bar") {
		first = n
	}
	return &generator{
		info: Info{Name: "palindrome", Vocab: V + 1, Classes: V + 1, T: 2*n + 1, Scored: float64(2*n - first), Chance: 1 / float64(V), Values: v},
		maker: func() rowMaker {
			return func(r *rand.Rand, _ Split, in, target []int32, mask []float32) bool {
				for t := range n {
					in[t] = r.Int32N(int32(V))
					in[2*n-t] = in[t]
				}
				in[n] = bar
				for t := first; t < 2*n; t++ {
					target[t], mask[t] = in[t+1], 1
				}
				return true
			}
		},
		oracle: func(in []int32, _ []float32, answers []int32) {
			for t := n; t < 2*n; t++ {
				answers[t] = in[2*n-1-t]
			}
		},
		modes: []string{"len"},
		longer: func(factor int, mode string) (Task, error) {
			return scaled(newPalindrome, v, factor, mode, "len")
		},
		token: func(id int32) string {
			if id == bar {
				return "|"
			}
			return fmt.Sprint(id)
		},
		details: []Detail{distanceToMirror(n)},
	}, nil
}

// distanceToMirror sorts by the positions between a symbol and where it stood
// before.
func distanceToMirror(n int) Detail {
	return Detail{"distance", powerBins(2 * n), func(b Batch) []int32 {
		bin := make([]int32, b.Rows*b.T)
		for i := range bin {
			if t := i % b.T; t >= n && t < 2*n {
				bin[i] = powerBin(2 * (t + 1 - n))
			} else {
				bin[i] = -1
			}
		}
		return bin
	}}
}
