package datasets

import (
	"math/rand/v2"
	"slices"

	"github.com/kalmarz/kalmarz/layers/option"
)

// Word problems: give the running product of a group's elements,
//
//	x1  x2     x3 ...
//	x1  x1 x2  x1 x2 x3 ...     targets, at every position
//
// A recurrence must track a state to do so; A5, of 60 elements and not solvable,
// is beyond constant-depth circuits of the class TC0 (Merrill et al., arXiv
// 2404.08819), Z60 needs only a sum, and A4 x Z5 is solvable but not abelian.
// The first answers are a copy and a table, so the last position is what counts.
var wordKind = &Kind{
	Name: "words",
	Doc:  "running product in a group: Z2 (parity), Z60, S3, A4xZ5, A5",
	Options: append(option.Set{
		{Name: "group", Kind: option.Word, Default: "s3", Choices: []string{"z2", "z60", "s3", "a4xz5", "a5"}, Help: "the group"},
		{Name: "len", Kind: option.Int, Default: 12, Range: [2]float64{1, 1 << 19}, Help: "k: elements of a word"},
		{Name: "letters", Kind: option.Word, Default: "all", Choices: []string{"all", "two"}, Help: "any element, or two generators only"},
	}, poolOptions(0, 0)...),
	Presets: map[string]map[string]string{
		"small":      {"group": "s3", "len": "24"},
		"paper":      {"group": "a5", "len": "12", "train": "800000", "test": "100000"},
		"generators": {"group": "a5", "len": "12", "letters": "two"},
		"auxiliary":  {"group": "a5", "len": "2"}, // a second loss beside paper's
		"lengths":    {"group": "a5", "len": "40"},
	},
	Ladder: append(rungs([]any{"len", 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 16, 18, 20}, []any{"group", "z60", "a4xz5"}),
		map[string]string{"group": "s3", "letters": "two"}, map[string]string{"group": "z2", "len": "20"}),
	New: newWords,
}

func newWords(v option.Values) (Task, error) {
	L := v.Int("len")
	g := groups[v.Word("group")]()
	letters := make([]int32, g.n)
	for i := range letters {
		letters[i] = int32(i)
	}
	if v.Word("letters") == "two" {
		letters = g.generators
	}
	return &generator{
		info: Info{Name: "words", Vocab: g.n, Classes: g.n, T: L, Scored: float64(L), Chance: g.chance(letters, L), Aligned: true, Pool: pools(v), Values: v},
		maker: func() rowMaker {
			return func(r *rand.Rand, _ Split, in, target []int32, mask []float32) bool {
				y := int32(0)
				for t := range in {
					in[t] = letters[r.IntN(len(letters))]
					y = g.times[int(y)*g.n+int(in[t])]
					target[t], mask[t] = y, 1
				}
				return true
			}
		},
		oracle: func(in []int32, _ []float32, answers []int32) {
			y := int32(0)
			for t, x := range in {
				y = g.times[int(y)*g.n+int(x)]
				answers[t] = y
			}
		},
		modes:   []string{"len"},
		longer:  lengthen(newWords, v),
		token:   func(id int32) string { return g.names[id] },
		details: []Detail{positions(L)},
	}, nil
}

// chance is the mean over positions of the most probable product's probability.
func (g *group) chance(letters []int32, length int) float64 {
	if len(letters) == g.n {
		return 1 / float64(g.n) // a uniform factor makes a uniform product
	}
	p := make([]float64, g.n)
	p[0] = 1
	sum := 0.0
	for range length {
		next := make([]float64, g.n)
		for a, pa := range p {
			for _, b := range letters {
				next[g.times[a*g.n+int(b)]] += pa / float64(len(letters))
			}
		}
		p = next
		sum += slices.Max(p)
	}
	return sum / float64(length)
}
