package datasets

import (
	"math/rand/v2"

	"github.com/kalmarz/kalmarz/layers/option"
)

// Fuzzy recall of MAD (arXiv 2403.17844): in-context recall whose keys and
// values are motifs of several distinct tokens, run together without a mark:
//
//	_ _ k3 k1 k5 v2 v7 k1 k4 k2 v0 ... k3 k1 k5 v2      the last is not an input
//	                                         v2 v7      targets
//
// Training keys have 1 to keymotif tokens, test keys always keymotif. A probe
// pair stands somewhere in the row and once more at its end. Rows are padded on
// the left, and training rows scored at every position.
var fuzzyKind = &Kind{
	Name: "fuzzy-recall",
	Doc:  "in-context recall with keys and values of several tokens",
	Options: append(option.Set{
		{Name: "vocab", Kind: option.Int, Default: 16, Range: [2]float64{4, 1 << 16}, Help: "V: keys, values and one padding id"},
		{Name: "len", Kind: option.Int, Default: 48, Range: [2]float64{5, 1 << 19}, Help: "L: positions of a row"},
		{Name: "keymotif", Kind: option.Int, Default: 2, Range: [2]float64{1, maxMotif}, Help: "most tokens of a key"},
		{Name: "valuemotif", Kind: option.Int, Default: 2, Range: [2]float64{1, maxMotif}, Help: "most tokens of a value"},
	}, poolOptions(0, 0)...),
	Presets: map[string]map[string]string{
		"small": {"len": "64", "keymotif": "3", "valuemotif": "3", "train": "2000", "test": "1280"},
		"paper": {"len": "128", "keymotif": "3", "valuemotif": "3", "train": "12800", "test": "1280"},
	},
	Ladder: rungs([]any{"vocab", 32, 64, 128}, []any{"len", 256, 512, 1024}, fewerRows),
	New:    newFuzzy,
}

const maxMotif = 4

// motif is an ordered draw of distinct ids.
type motif struct {
	size int8
	ids  [maxMotif]int32
}

func drawMotif(r *rand.Rand, d *deck, size int) motif {
	m := motif{size: int8(size)}
	copy(m.ids[:], d.draw(r, size))
	d.restore(size)
	return m
}

func newFuzzy(v option.Values) (Task, error) {
	const name = "fuzzy-recall"
	V, L, km, vm := v.Int("vocab"), v.Int("len"), v.Int("keymotif"), v.Int("valuemotif")
	pad := int32(V - 1)
	K := (V - 1) / 2
	switch {
	case L <= 2*(km+vm):
		return nil, impossible(name, "len", L, "must be more than 2*(keymotif + valuemotif) = %d", 2*(km+vm))
	case km > K:
		return nil, impossible(name, "keymotif", km, "must be at most the number of key ids, (vocab-1)/2 = %d", K)
	case vm > int(pad)-K:
		return nil, impossible(name, "valuemotif", vm, "must be at most the number of value ids, vocab/2 = %d", int(pad)-K)
	}
	g := &generator{
		info: Info{Name: name, Vocab: V, Classes: V, T: L, Chance: 1 / float64(int(pad)-K), Unmasked: true, Pool: pools(v), Values: v},
		maker: func() rowMaker {
			keys, values := newDeck(0, K), newDeck(K, int(pad))
			value := map[motif]motif{}
			row := make([]int32, 0, L+1)
			scored := make([]bool, 0, L+1)
			return func(r *rand.Rand, split Split, in, target []int32, mask []float32) bool {
				clear(value)
				row, scored = row[:0], scored[:0]
				add := func(m motif, score bool) {
					row = append(row, m.ids[:m.size]...)
					for range m.size {
						scored = append(scored, score)
					}
				}
				drawKey := func() motif {
					if split == Train {
						return drawMotif(r, keys, 1+r.IntN(km))
					}
					return drawMotif(r, keys, km)
				}
				drawValue := func() motif { return drawMotif(r, values, 1+r.IntN(vm)) }
				probe, answer := drawKey(), drawValue()
				n0 := int(probe.size + answer.size)
				from := r.IntN(L - 2*n0)
				for len(row) < L-n0-(km+vm) {
					key := probe
					_, placed := value[probe]
					if placed || len(row) < from {
						key = drawKey()
					}
					known, seen := value[key]
					switch {
					case seen:
					case key == probe:
						known = answer
					default:
						known = drawValue()
					}
					value[key] = known
					add(key, false)
					add(known, seen)
				}
				if _, placed := value[probe]; !placed {
					return false // the threshold lay too near the end
				}
				add(probe, false)
				add(answer, true)
				pads := L + 1 - len(row)
				row, scored = row[:L+1], scored[:L+1]
				copy(row[pads:], row)
				copy(scored[pads:], scored)
				for t := range pads {
					row[t], scored[t] = pad, false
				}
				copy(in, row)
				if split == Train {
					scoreAll(row, target, mask)
					return true
				}
				for t := range L {
					if scored[t+1] {
						target[t], mask[t] = row[t+1], 1
					}
				}
				return true
			}
		},
		oracle: func(in []int32, _ []float32, answers []int32) {
			value := map[string][]int32{}
			run := func(t int, lo, hi int32) int {
				for t < len(in) && in[t] >= lo && in[t] < hi {
					t++
				}
				return t
			}
			for t := run(0, pad, pad+1); t < len(in); {
				k := run(t, 0, int32(K))
				key := idsKey(in[t:k])
				copy(answers[k-1:], value[key])
				t = run(k, int32(K), pad)
				value[key] = in[k:t]
			}
		},
		modes:  []string{"len"},
		longer: lengthen(newFuzzy, v),
		token:  madToken(K, int(pad), "-"),
	}
	g.info.Scored = g.measureScored()
	return g, nil
}

// idsKey makes a map key of a few ids.
func idsKey(ids []int32) string {
	key := make([]byte, 0, 4*maxMotif)
	for _, id := range ids {
		key = append(key, byte(id), byte(id>>8), byte(id>>16), byte(id>>24))
	}
	return string(key)
}
