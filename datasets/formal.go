package datasets

import (
	"maps"
	"math/rand/v2"

	"github.com/kalmarz/kalmarz/layers/option"
)

// Regular and other formal languages, after Deletang et al. (arXiv 2207.02098):
// a word of random length, padded by 0 on the right, is answered at its last
// position; dense rows answer for every prefix. Training on lengths 3 to 40 and
// testing on 40 to 256 shows whether the rule was found. A recurrence whose
// transitions have eigenvalues in [0, 1] only cannot compute parity for all
// lengths in finite precision (Grazzi et al., arXiv 2411.12537).
type language struct {
	name           string
	vocab, classes int
	// draw fills a word of len(word) symbols and returns its value at each
	// position where dense, at the last in any case.
	draw func(r *rand.Rand, word, values []int32)
	// solve answers for the last position of a word.
	solve func(word []int32) int32
	// best is the probability of the most probable answer for length n.
	best   func(n int) float64
	length func(n int) int // a length that has words, at or above n; nil: n
	token  func(id int32) string
	class  func(id int32) string
}

func lengthOptions(lo, hi, most int) option.Set {
	limits := [2]float64{2, float64(most)}
	return option.Set{
		{Name: "min", Kind: option.Int, Default: lo, Range: limits, Help: "shortest word"},
		{Name: "max", Kind: option.Int, Default: hi, Range: limits, Help: "longest word"},
	}
}

var denseOption = option.Option{Name: "dense", Kind: option.Bool, Default: true, Help: "answer for every prefix, not at the last position only"}

// languagePresets have dense words of one length for small, and the protocol of
// arXiv 2207.02098 for paper.
var languagePresets = map[string]map[string]string{
	"small": {"min": "40", "max": "40"},
	"paper": {"min": "3", "max": "40", "dense": "false"},
	"long":  {"min": "40", "max": "256", "dense": "false"},
}

func newLanguage(l language, v option.Values, dense bool, remake func(option.Values) (Task, error)) (Task, error) {
	lo, hi := v.Int("min"), v.Int("max")
	if lo > hi {
		return nil, impossible(l.name, "min", lo, "must be at most max = %d", hi)
	}
	length := l.length
	if length == nil {
		length = func(n int) int { return n }
	}
	T := length(hi)
	scored, right := 0.0, 0.0 // of one row of each length
	for n := lo; n <= hi; n++ {
		from := length(n)
		if dense {
			from = 1
		}
		for t := from; t <= length(n); t++ {
			scored++
			right += l.best(t)
		}
	}
	return &generator{
		info: Info{Name: l.name, Vocab: l.vocab, Classes: l.classes, T: T, Scored: scored / float64(hi-lo+1), Chance: right / scored, Aligned: true, Values: v},
		maker: func() rowMaker {
			return func(r *rand.Rand, _ Split, in, target []int32, mask []float32) bool {
				n := length(lo + r.IntN(hi-lo+1))
				l.draw(r, in[:n], target[:n])
				for t := range n {
					if dense || t == n-1 {
						mask[t] = 1
					} else {
						target[t] = 0
					}
				}
				return true
			}
		},
		oracle: func(in []int32, mask []float32, answers []int32) {
			for t := range in {
				if mask[t] != 0 {
					answers[t] = l.solve(in[:t+1])
				}
			}
		},
		modes: []string{"len"},
		longer: func(factor int, mode string) (Task, error) {
			if lo == hi {
				return scaled(remake, v, factor, mode, "min", "max")
			}
			above := maps.Clone(v)
			above["min"] = hi
			if factor == 1 {
				above["min"] = lo
			}
			return scaled(remake, above, factor, mode, "max")
		},
		token:   l.token,
		class:   l.class,
		details: []Detail{positions(T)},
	}, nil
}
