package datasets

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/kalmarz/kalmarz/layers/option"
)

// A single needle in a haystack, as tokens, after the three single-needle tasks
// of RULER (arXiv 2404.06654):
//
//	h h h ! k3 v1 v4 h h h h ? k3 v1
//	                           v1 v4     targets, the next token
//
// The haystack repeats eight ids in turn, draws from a few of them, or is decoy:
// keys and values without the mark. The needle stands anywhere before the last
// haystack token.
var niahKind = &Kind{
	Name: "niah",
	Doc:  "a needle in a haystack: give back the marked key's values",
	Options: option.Set{
		{Name: "haystack", Kind: option.Word, Default: "repeat", Choices: []string{"repeat", "random", "decoy"}, Help: "what surrounds the needle"},
		{Name: "len", Kind: option.Int, Default: 48, Range: [2]float64{6, 1 << 19}, Help: "T: positions of a row"},
		{Name: "keys", Kind: option.Int, Default: 8, Range: [2]float64{1, 1 << 16}, Help: "key ids"},
		{Name: "values", Kind: option.Int, Default: 8, Range: [2]float64{1, 1 << 16}, Help: "value ids"},
		{Name: "value", Kind: option.Int, Default: 2, Range: [2]float64{1, 1 << 10}, Help: "m: tokens of the value"},
		{Name: "words", Kind: option.Int, Default: 4, Range: [2]float64{1, niahHaystack}, Help: "ids a row's random haystack draws from"},
	},
	Presets: map[string]map[string]string{
		"small":  {"len": "256", "keys": "16", "values": "16"},
		"paper":  {"len": "1024", "keys": "64", "values": "64"},
		"essay":  {"len": "1024", "keys": "64", "values": "64", "haystack": "random"},
		"uuid":   {"len": "1024", "keys": "64", "values": "16", "haystack": "random", "value": "8"},
		"decoys": {"len": "1024", "keys": "64", "values": "64", "haystack": "decoy"},
	},
	Ladder: append(rungs([]any{"haystack", "random", "decoy"}, []any{"len", 2048, 4096}),
		map[string]string{"haystack": "decoy", "value": "8"}),
	New: newNiah,
}

const (
	niahHaystack = 8 // ids 0..7
	niahMark     = 8
	niahQuery    = 9
	niahKey      = 10 // first key; values follow the keys
)

func newNiah(v option.Values) (Task, error) {
	const name = "niah"
	T, K, V, m, words := v.Int("len"), v.Int("keys"), v.Int("values"), v.Int("value"), v.Int("words")
	// Needle, at least one token, query.
	places := T - (m + 2) - (m + 2) + 1
	if places < 1 {
		return nil, impossible(name, "value", m, "needle and query, 2*value + 4 = %d positions, must fit in len = %d", 2*m+4, T)
	}
	firstValue := int32(niahKey + K)
	haystack := v.Word("haystack")
	return &generator{
		info: Info{Name: name, Vocab: niahKey + K + V, Classes: niahKey + K + V, T: T, Scored: float64(m), Chance: 1 / float64(V), Values: v},
		maker: func() rowMaker {
			deck := newDeck(0, niahHaystack)
			return func(r *rand.Rand, _ Split, in, target []int32, mask []float32) bool {
				key := niahKey + r.Int32N(int32(K))
				at, end := r.IntN(places), T-(m+1)
				few := deck.draw(r, words)
				for t, hay := 0, int32(0); t < end; t++ {
					if t == at {
						in[t], in[t+1] = niahMark, key
						for i := range m {
							in[t+2+i] = firstValue + r.Int32N(int32(V))
						}
						t += m + 1
						continue
					}
					switch haystack {
					case "repeat":
						in[t] = hay
						hay = (hay + 1) % niahHaystack
					case "random":
						in[t] = few[r.IntN(words)]
					default:
						in[t] = niahKey + r.Int32N(int32(K+V))
					}
				}
				deck.restore(words)
				in[end] = niahQuery
				needle := in[at+1 : at+2+m] // key and values
				copy(in[end+1:], needle[:m])
				copy(target[end+1:], needle[1:])
				for t := end + 1; t < T; t++ {
					mask[t] = 1
				}
				return true
			}
		},
		oracle: func(in []int32, _ []float32, answers []int32) {
			mark := slices.Index(in, niahMark)
			query := slices.Index(in, niahQuery)
			copy(answers[query+1:], in[mark+2:mark+2+m])
		},
		modes:  []string{"len"},
		longer: lengthen(newNiah, v),
		token: func(id int32) string {
			switch {
			case id < niahHaystack:
				return fmt.Sprintf("h%d", id)
			case id < niahKey:
				return []string{"!", "?"}[id-niahMark]
			case id < firstValue:
				return fmt.Sprintf("k%d", id-niahKey)
			}
			return fmt.Sprintf("v%d", id-firstValue)
		},
		details: []Detail{needleDepth(places)},
	}, nil
}

// needleDepth sorts rows into eight bins by where their needle stands.
func needleDepth(places int) Detail {
	const bins = 8
	names := make([]string, bins)
	for i := range names {
		names[i] = fmt.Sprintf("%g-%g %%", 100.0/bins*float64(i), 100.0/bins*float64(i+1))
	}
	return Detail{"depth", names, func(b Batch) []int32 {
		bin := make([]int32, b.Rows*b.T)
		for row := range b.Rows {
			in, _, _ := b.Row(row)
			depth := int32(slices.Index(in, niahMark) * bins / places)
			for t := range in {
				bin[row*b.T+t] = depth
			}
		}
		return bin
	}}
}
