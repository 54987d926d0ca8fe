package datasets

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kalmarz/kalmarz/layers/option"
)

// In-context recall and noisy recall of MAD (arXiv 2403.17844):
//
//	k2 v5 k0 v1 n7 n3 k2 v5 ... k0 v1       the last token is not an input
//	               v5               targets: the value after a key seen before
//
// Half of the content ids are keys, half values; a key keeps its value within a
// row. In noisy recall a pair gives way to two noise ids with probability frac.
// A training row is scored at every position, as a language.
var (
	recallKind = &Kind{
		Name: "recall",
		Doc:  "in-context recall: which value followed this key before?",
		Options: append(option.Set{
			{Name: "vocab", Kind: option.Int, Default: 16, Range: [2]float64{4, 1 << 16}, Help: "V: half of it keys, half values"},
			{Name: "len", Kind: option.Int, Default: 32, Range: [2]float64{4, 1 << 19}, Help: "L: tokens of a row, of which L-1 are inputs"},
			{Name: "single", Kind: option.Bool, Default: false, Help: "score the last pair only, announced by a prefix"},
		}, poolOptions(0, 0)...),
		Presets: map[string]map[string]string{
			"small": {"len": "64", "train": "2000", "test": "1280"},
			"paper": {"len": "128", "train": "12800", "test": "1280"},
		},
		Ladder: rungs([]any{"vocab", 32, 64, 128}, []any{"len", 256, 512, 1024}, fewerRows),
		New:    newRecall,
	}
	noisyKind = &Kind{
		Name: "noisy-recall",
		Doc:  "in-context recall with noise between the pairs",
		Options: append(option.Set{
			{Name: "vocab", Kind: option.Int, Default: 24, Range: [2]float64{5, 1 << 16}, Help: "V: all ids, noise included"},
			{Name: "noise", Kind: option.Int, Default: 8, Range: [2]float64{1, 1 << 16}, Help: "how many of them are noise"},
			{Name: "frac", Kind: option.Float, Default: 0.4, Range: [2]float64{0, 0.999}, Help: "probability that noise replaces a pair"},
			{Name: "len", Kind: option.Int, Default: 32, Range: [2]float64{4, 1 << 19}, Help: "L: tokens of a row, of which L-1 are inputs"},
		}, poolOptions(0, 0)...),
		Presets: map[string]map[string]string{
			"small": {"vocab": "32", "noise": "16", "frac": "0.2", "len": "64", "train": "2000", "test": "1280"},
			"paper": {"vocab": "32", "noise": "16", "frac": "0.2", "len": "128", "train": "12800", "test": "1280"},
		},
		Ladder: rungs([]any{"vocab", 48, 80, 144}, []any{"len", 256, 512, 1024}, []any{"frac", 0.4, 0.6, 0.8}, fewerRows),
		New:    newNoisy,
	}
)

func newRecall(v option.Values) (Task, error) {
	content := v.Int("vocab")
	if v.Bool("single") {
		content--
	}
	return recall("recall", v, newRecall, content, 0, 0, v.Bool("single"))
}

func newNoisy(v option.Values) (Task, error) {
	content := v.Int("vocab") - v.Int("noise")
	if content < 4 {
		return nil, impossible("noisy-recall", "noise", v.Int("noise"), "must leave at least 4 of vocab = %d", v.Int("vocab"))
	}
	return recall("noisy-recall", v, newNoisy, content, v.Int("noise"), v.Float("frac"), false)
}

func recall(name string, v option.Values, remake func(option.Values) (Task, error), n, noise int, frac float64, single bool) (Task, error) {
	V, L := v.Int("vocab"), v.Int("len")
	if L%2 != 0 {
		return nil, impossible(name, "len", L, "must be even")
	}
	K, P, T := n/2, L/2, L-1
	values := int32(n - K)
	if single {
		T = L // the prefix is one more
	}
	info := Info{Name: name, Vocab: V, Classes: V, T: T, Chance: 1 / float64(values), Unmasked: true, Pool: pools(v), Values: v}
	info.Scored = 1
	if !single {
		// Of m draws from K keys, K(1-q^m) are first sightings, q = 1-1/K; one
		// slot is always a pair, P-2 are with probability 1-frac.
		q := 1 - 1/float64(K)
		seen := float64(K) * (1 - q*math.Pow(frac+(1-frac)*q, float64(P-2)))
		info.Scored = 2 + float64(P-2)*(1-frac) - seen
	}
	return &generator{
		info: info,
		maker: func() rowMaker {
			value := make([]int32, K) // of a key in this row, -1 if unseen
			var seen []int32
			row := make([]int32, T+1)
			return func(r *rand.Rand, split Split, in, target []int32, mask []float32) bool {
				for k := range value {
					value[k] = -1
				}
				seen = seen[:0]
				score := func(t int) {
					if split != Train {
						target[t], mask[t] = row[t+1], 1
					}
				}
				kept := r.IntN(P - 1) // never noise
				for i := range P - 1 {
					t := 2 * i
					if i != kept && frac > 0 && r.Float64() < frac {
						row[t], row[t+1] = int32(n)+r.Int32N(int32(noise)), int32(n)+r.Int32N(int32(noise))
						continue
					}
					k := r.Int32N(int32(K))
					known := value[k] >= 0
					if !known {
						value[k] = int32(K) + r.Int32N(values)
						seen = append(seen, k)
					}
					row[t], row[t+1] = k, value[k]
					if known && !single {
						score(t)
					}
				}
				t := 2 * (P - 1)
				if single {
					row[t] = int32(n)
					t++
				}
				k := seen[r.IntN(len(seen))]
				row[t], row[t+1] = k, value[k]
				score(t)
				copy(in, row)
				if split == Train {
					scoreAll(row, target, mask)
				}
				return true
			}
		},
		oracle: func(in []int32, _ []float32, answers []int32) {
			value := map[int32]int32{}
			for t, k := range in {
				if int(k) >= K {
					continue
				}
				answers[t] = value[k]
				if t+1 < len(in) {
					value[k] = in[t+1]
				}
			}
		},
		modes:  []string{"len"},
		longer: lengthen(remake, v),
		token:  madToken(K, n, slices.Repeat([]string{"?"}, V-n-noise)...), // the prefix, if any
	}, nil
}

// scoreAll makes every next token of a row a target.
func scoreAll(row, target []int32, mask []float32) {
	copy(target, row[1:])
	for t := range mask {
		mask[t] = 1
	}
}
