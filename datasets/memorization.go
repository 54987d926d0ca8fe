package datasets

import (
	"math/rand/v2"

	"github.com/kalmarz/kalmarz/layers/option"
)

// Memorization of MAD (arXiv 2403.17844): the values of keys are the same in
// all rows of all splits, and are to be learned by heart:
//
//	k7 ? k2 ? k7 ?
//	   v4   v9   v4     targets
//
// Few training rows leave keys of a large vocabulary unseen: the best possible
// accuracy is the share of keys that occur.
var memorizationKind = &Kind{
	Name: "memorization",
	Doc:  "a fixed map from keys to values, never shown in the inputs",
	Options: append(option.Set{
		{Name: "vocab", Kind: option.Int, Default: 64, Range: [2]float64{3, 1 << 16}, Help: "V: keys, values and the insert token"},
		{Name: "len", Kind: option.Int, Default: 32, Range: [2]float64{2, 1 << 19}, Help: "L: positions of a row, two a key"},
	}, poolOptions(256, 1280)...),
	Presets: map[string]map[string]string{
		"small": {"vocab": "128"},
		"paper": {"vocab": "256"},
	},
	Ladder: rungs([]any{"vocab", 512, 1024, 2048, 4096, 8192}),
	New:    newMemorization,
}

// mapSeed makes the one map from keys to values, whatever the rows' seed.
const mapSeed = 12345

func newMemorization(v option.Values) (Task, error) {
	const name = "memorization"
	V, L := v.Int("vocab"), v.Int("len")
	if L%2 != 0 {
		return nil, impossible(name, "len", L, "must be even")
	}
	n := V - 1
	K, insert := n/2, int32(n)
	value := make([]int32, K)
	for k, x := range rand.New(rand.NewPCG(mapSeed, uint64(V))).Perm(n - K)[:K] {
		value[k] = int32(K + x)
	}
	return &generator{
		info: Info{Name: name, Vocab: V, Classes: V, T: L, Scored: float64(L / 2), Chance: 1 / float64(K), Aligned: true, Pool: pools(v), Values: v},
		maker: func() rowMaker {
			return func(r *rand.Rand, _ Split, in, target []int32, mask []float32) bool {
				for t := 0; t < L; t += 2 {
					in[t], in[t+1] = r.Int32N(int32(K)), insert
					target[t+1], mask[t+1] = value[in[t]], 1
				}
				return true
			}
		},
		oracle: func(in []int32, _ []float32, answers []int32) {
			for t := 1; t < len(in); t += 2 {
				answers[t] = value[in[t-1]]
			}
		},
		modes:  []string{"len"},
		longer: lengthen(newMemorization, v),
		token:  madToken(K, n, "?"),
	}, nil
}
