package datasets

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kalmarz/kalmarz/layers/option"
)

// Multi-query associative recall (Arora et al., arXiv 2312.04927):
//
//	k1 v1 ... kK vK  _ _ k3 _ k1 _ ...     _ is filler
//	                     v3   v1           targets, at the queries
//
// K distinct keys of [1, V/2) are each given a distinct value of [V/2, V); later
// each key is asked for once. Queries start at even offsets from the context's
// end, and slot j is chosen with weight (j+1)^(power-1).
var mqarKind = &Kind{
	Name: "mqar",
	Doc:  "multi-query associative recall: keys with values, then each key asked for once",
	Options: append(option.Set{
		{Name: "vocab", Kind: option.Int, Default: 32, Range: [2]float64{4, 1 << 19}, Help: "V: half of it keys, half values"},
		{Name: "len", Kind: option.Int, Default: 16, Range: [2]float64{4, 1 << 19}, Help: "L: positions of a row"},
		{Name: "pairs", Kind: option.Int, Default: 4, Range: [2]float64{1, 1 << 17}, Help: "K: keys with a value"},
		{Name: "power", Kind: option.Float, Default: 0.01, Range: [2]float64{0, 10}, Help: "queries near the context (0.01) or anywhere (1)"},
		{Name: "fill", Kind: option.Word, Default: "random", Choices: []string{"zero", "random"}, Help: "what stands between queries"},
		{Name: "collide", Kind: option.Bool, Default: false, Help: "let random fillers repeat keys and values of the row"},
	}, poolOptions(0, 0)...),
	Presets: map[string]map[string]string{
		"small":       {"vocab": "256", "len": "64"},
		"paper":       {"vocab": "8192", "len": "512", "pairs": "64", "fill": "zero", "train": "100000", "test": "3000"},
		"zoology-64":  {"vocab": "8192", "len": "64", "pairs": "4", "fill": "zero", "train": "100000", "test": "3000"},
		"zoology-128": {"vocab": "8192", "len": "128", "pairs": "8", "fill": "zero", "train": "100000", "test": "3000"},
		"zoology-256": {"vocab": "8192", "len": "256", "pairs": "16", "fill": "zero", "train": "100000", "test": "3000"},
		"zoology-512": {"vocab": "8192", "len": "512", "pairs": "64", "fill": "zero", "train": "100000", "test": "3000"},
		"kaczmarz":    {"vocab": "8192", "len": "256", "pairs": "32"},
		"metala":      {"vocab": "8192", "len": "512", "pairs": "80"},
		"kalman":      {"vocab": "8192", "len": "2048", "pairs": "256"},
		"extrapolate": {"vocab": "256", "len": "64", "pairs": "8"},
	},
	New: newMQAR,
}

func newMQAR(v option.Values) (Task, error) {
	const name = "mqar"
	V, L, K := v.Int("vocab"), v.Int("len"), v.Int("pairs")
	random, collide := v.Word("fill") == "random", v.Bool("collide")
	switch {
	case V%2 != 0:
		return nil, impossible(name, "vocab", V, "must be even")
	case L%2 != 0:
		return nil, impossible(name, "len", L, "must be even")
	case 4*K > L:
		return nil, impossible(name, "pairs", K, "4*pairs = %d must be at most len = %d", 4*K, L)
	case K >= V/2:
		return nil, impossible(name, "pairs", K, "must be less than vocab/2 = %d", V/2)
	}
	slots := (L - 2*K) / 2
	scale := make([]float64, slots) // 1/weight
	for j := range scale {
		scale[j] = math.Pow(float64(j+1), 1-v.Float("power"))
	}
	return &generator{
		info: Info{Name: name, Vocab: V, Classes: V, T: L, Scored: float64(K), Chance: 2 / float64(V), Aligned: true, Pool: pools(v), Values: v},
		maker: func() rowMaker {
			keys, values := newDeck(1, V/2), newDeck(V/2, V)
			arrivals := make([]arrival, slots)
			return func(r *rand.Rand, _ Split, in, target []int32, mask []float32) bool {
				ks, vs := keys.draw(r, K), values.draw(r, K)
				for i := range K {
					in[2*i], in[2*i+1] = ks[i], vs[i]
				}
				// The first K of independent exponential arrivals with these
				// rates are K slots drawn one by one by weight.
				for j := range arrivals {
					arrivals[j] = arrival{r.ExpFloat64() * scale[j], int32(j)}
				}
				slices.SortFunc(arrivals, arrival.compare)
				for i, a := range arrivals[:K] {
					at := 2*K + 2*int(a.slot)
					in[at], target[at], mask[at] = ks[i], vs[i], 1
				}
				if random {
					for t := 2 * K; t < L; t++ {
						for mask[t] == 0 {
							in[t] = r.Int32N(int32(V))
							if collide || !keys.has(in[t], K) && !values.has(in[t], K) {
								break
							}
						}
					}
				}
				keys.restore(K)
				values.restore(K)
				return true
			}
		},
		oracle: func(in []int32, mask []float32, answers []int32) {
			value := make(map[int32]int32, K)
			for i := range K {
				value[in[2*i]] = in[2*i+1]
			}
			for t := range answers {
				if mask[t] != 0 {
					answers[t] = value[in[t]]
				}
			}
		},
		modes: []string{"fixedK", "scaledK"},
		longer: func(factor int, mode string) (Task, error) {
			if mode == "scaledK" {
				return scaled(newMQAR, v, factor, mode, "len", "pairs")
			}
			return scaled(newMQAR, v, factor, mode, "len")
		},
		token: func(id int32) string {
			switch {
			case id == 0:
				return "-"
			case id < int32(V/2):
				return fmt.Sprintf("k%d", id)
			}
			return fmt.Sprintf("v%d", id-int32(V/2))
		},
	}, nil
}

// arrival is a slot and the time at which it is drawn.
type arrival struct {
	time float64
	slot int32
}

func (a arrival) compare(b arrival) int {
	if a.time < b.time {
		return -1
	}
	return 1
}
