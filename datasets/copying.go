package datasets

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/kalmarz/kalmarz/layers/option"
)

// Selective copying of MAD (arXiv 2403.17844):
//
//	3 _ _ 1 _ 4 > _ _ _
//	              3 1 4     targets
//
// N content tokens stand among blanks, each blank before a content token drawn
// uniformly; after the copy token > they are to be given in order.
var copyKind = &Kind{
	Name: "selective-copy",
	Doc:  "copy the tokens that are not blank",
	Options: append(option.Set{
		{Name: "vocab", Kind: option.Int, Default: 10, Range: [2]float64{3, 1 << 16}, Help: "V: content ids, blank and copy"},
		{Name: "len", Kind: option.Int, Default: 32, Range: [2]float64{4, 1 << 19}, Help: "L: positions of a row"},
		{Name: "copy", Kind: option.Int, Default: 6, Range: [2]float64{1, 1 << 18}, Help: "N: tokens to copy"},
	}, poolOptions(0, 0)...),
	Presets: map[string]map[string]string{
		"small": {"vocab": "16", "len": "64", "copy": "8", "train": "2000", "test": "1280"},
		"paper": {"vocab": "16", "len": "256", "copy": "16", "train": "12800", "test": "1280"},
	},
	Ladder: rungs([]any{"vocab", 32, 64, 128}, []any{"len", 512, 1024}, []any{"copy", 32, 64, 96}, fewerRows),
	New:    newCopy,
}

func newCopy(v option.Values) (Task, error) {
	const name = "selective-copy"
	V, L, N := v.Int("vocab"), v.Int("len"), v.Int("copy")
	if L <= 2*N+1 {
		return nil, impossible(name, "copy", N, "2*copy + 1 = %d must be less than len = %d", 2*N+1, L)
	}
	content, blank, start := int32(V-2), int32(V-2), int32(V-1)
	return &generator{
		info: Info{Name: name, Vocab: V, Classes: V, T: L, Scored: float64(N), Chance: 1 / float64(content), Aligned: true, Pool: pools(v), Values: v},
		maker: func() rowMaker {
			blanks := make([]int, N) // before each content token
			return func(r *rand.Rand, _ Split, in, target []int32, mask []float32) bool {
				clear(blanks)
				for range L - 2*N - 1 {
					blanks[r.IntN(N)]++
				}
				t := 0
				for i, n := range blanks {
					for range n {
						in[t] = blank
						t++
					}
					in[t] = r.Int32N(content)
					target[L-N+i], mask[L-N+i] = in[t], 1
					t++
				}
				in[t] = start
				for t++; t < L; t++ {
					in[t] = blank
				}
				return true
			}
		},
		oracle: func(in []int32, _ []float32, answers []int32) {
			at := slices.Index(in, start) + 1
			for _, x := range in[:at-1] {
				if x != blank {
					answers[at] = x
					at++
				}
			}
		},
		modes:  []string{"len"},
		longer: lengthen(newCopy, v),
		token: func(id int32) string {
			switch id {
			case blank:
				return "-"
			case start:
				return ">"
			}
			return fmt.Sprint(id)
		},
	}, nil
}
