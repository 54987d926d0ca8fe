package datasets

import (
	"fmt"
	"math/rand/v2"

	"github.com/kalmarz/kalmarz/layers/option"
)

// Compression of MAD (arXiv 2403.17844): L-1 random tokens and a last token ".",
// all to be given back from what a model holds at the last position alone:
//
//	3 1 4 1 5 .
//	3 1 4 1 5 .     targets
//
// So it needs a head that decodes every position from the last one's vector; to
// a model that answers at each position the task is trivial. The constant last
// token is scored too.
var compressionKind = &Kind{
	Name: "compression",
	Doc:  "give back the whole row from the vector at its last position",
	Options: append(option.Set{
		{Name: "vocab", Kind: option.Int, Default: 8, Range: [2]float64{3, 1 << 16}, Help: "V: content ids and the last token"},
		{Name: "len", Kind: option.Int, Default: 8, Range: [2]float64{2, 1 << 19}, Help: "L: positions of a row"},
	}, poolOptions(0, 0)...),
	Presets: map[string]map[string]string{
		"small": {"vocab": "16", "len": "16", "train": "2000", "test": "1280"},
		"paper": {"vocab": "16", "len": "32", "train": "12800", "test": "1280"},
	},
	Ladder: rungs([]any{"vocab", 32, 64, 128}, []any{"len", 64, 128, 256}, fewerRows),
	New:    newCompression,
}

func newCompression(v option.Values) (Task, error) {
	V, L := v.Int("vocab"), v.Int("len")
	chance := (float64(L-1)/float64(V-1) + 1) / float64(L)
	return &generator{
		info: Info{Name: "compression", Vocab: V, Classes: V, T: L, Scored: float64(L), Chance: chance, Aligned: true, FromLast: true, Pool: pools(v), Values: v},
		maker: func() rowMaker {
			return func(r *rand.Rand, _ Split, in, target []int32, mask []float32) bool {
				for t := range in {
					in[t], mask[t] = r.Int32N(int32(V-1)), 1
				}
				in[L-1] = int32(V - 1)
				copy(target, in)
				return true
			}
		},
		oracle: func(in []int32, _ []float32, answers []int32) { copy(answers, in) },
		modes:  []string{"len"},
		longer: lengthen(newCompression, v),
		token: func(id int32) string {
			if int(id) == V-1 {
				return "."
			}
			return fmt.Sprint(id)
		},
	}, nil
}
