package datasets

import (
	"fmt"
	"math/rand/v2"

	"github.com/kalmarz/kalmarz/layers/option"
)

// Multi-query associative recall in the form of Kimi Linear (arXiv 2510.26692):
//
//	k1 v1 ... kK vK | k3 k1 k3 ...
//	                  v3 v1 v3        targets, at the queries
//
// Keys are distinct, values and queries drawn freely; nothing stands between.
var kimiKind = &Kind{
	Name: "mqar-kimi",
	Doc:  "associative recall without filler: keys with values, a bar, then queries only",
	Options: option.Set{
		{Name: "vocab", Kind: option.Int, Default: 32, Range: [2]float64{2, 1 << 19}, Help: "V: half of it keys, half values; one more id is the bar"},
		{Name: "pairs", Kind: option.Int, Default: 8, Range: [2]float64{1, 1 << 17}, Help: "K: keys with a value"},
		{Name: "queries", Kind: option.Int, Default: 0, Range: [2]float64{0, 1 << 17}, Help: "queries after the bar; 0: as many as pairs"},
	},
	Presets: map[string]map[string]string{
		"small":     {"vocab": "128", "pairs": "32"},
		"paper":     {"vocab": "8192", "pairs": "256"}, // T/4 at the figure's T = 1024
		"kimi-256":  {"vocab": "8192", "pairs": "64"},
		"kimi-512":  {"vocab": "8192", "pairs": "128"},
		"kimi-1024": {"vocab": "8192", "pairs": "256"},
		"kimi-2048": {"vocab": "8192", "pairs": "512"},
		"letters":   {"vocab": "128", "pairs": "64"},
	},
	New: newKimi,
}

func newKimi(v option.Values) (Task, error) {
	const name = "mqar-kimi"
	V, K, Q := v.Int("vocab"), v.Int("pairs"), v.Int("queries")
	if Q == 0 {
		Q = K
	}
	switch {
	case V%2 != 0:
		return nil, impossible(name, "vocab", V, "must be even")
	case K > V/2:
		return nil, impossible(name, "pairs", K, "must be at most vocab/2 = %d", V/2)
	}
	bar := int32(V)
	return &generator{
		info: Info{Name: name, Vocab: V + 1, Classes: V + 1, T: 2*K + 1 + Q, Scored: float64(Q), Chance: 2 / float64(V), Aligned: true, Values: v},
		maker: func() rowMaker {
			keys := newDeck(0, V/2)
			return func(r *rand.Rand, _ Split, in, target []int32, mask []float32) bool {
				for i, k := range keys.draw(r, K) {
					in[2*i], in[2*i+1] = k, int32(V/2)+r.Int32N(int32(V/2))
				}
				keys.restore(K)
				in[2*K] = bar
				for t := 2*K + 1; t < len(in); t++ {
					i := r.IntN(K)
					in[t], target[t], mask[t] = in[2*i], in[2*i+1], 1
				}
				return true
			}
		},
		oracle: func(in []int32, mask []float32, answers []int32) {
			value := map[int32]int32{}
			t := 0
			for ; in[t] != bar; t += 2 {
				value[in[t]] = in[t+1]
			}
			for ; t < len(in); t++ {
				answers[t] = value[in[t]]
			}
		},
		modes: []string{"scaledK"},
		longer: func(factor int, mode string) (Task, error) {
			return scaled(newKimi, v, factor, mode, "pairs", "queries")
		},
		token: func(id int32) string {
			switch {
			case id == bar:
				return "|"
			case id < int32(V/2):
				return fmt.Sprintf("k%d", id)
			}
			return fmt.Sprintf("v%d", id-int32(V/2))
		},
	}, nil
}
