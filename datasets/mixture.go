package datasets

import (
	"fmt"
	"maps"
	"strings"

	"github.com/kalmarz/kalmarz/layers/option"
)

// mixtureKind is MQAR of several lengths and numbers of pairs, as Based is
// trained and tested (Arora et al., arXiv 2402.18668). All rows of a batch are
// of one cell, which the batch's index decides: cells come in turn, one with
// weight w as often as w others.
var mixtureKind = &Kind{
	Name: "mqar-mix",
	Doc:  "MQAR of several lengths and numbers of pairs, one of them a batch",
	Options: option.Set{
		{Name: "vocab", Kind: option.Int, Default: 64, Range: [2]float64{4, 1 << 19}, Help: "V: half of it keys, half values"},
		{Name: "train", Kind: option.Word, Default: "16/2,16/4,32/8", Help: "training cells, len/pairs or len/pairs*weight"},
		{Name: "test", Kind: option.Word, Default: "16/4,32/8,64/16", Help: "test and validation cells"},
		{Name: "power", Kind: option.Float, Default: 0.01, Range: [2]float64{0, 10}, Help: "queries near the context (0.01) or anywhere (1)"},
		{Name: "fill", Kind: option.Word, Default: "random", Choices: []string{"zero", "random"}, Help: "what stands between queries"},
		{Name: "collide", Kind: option.Bool, Default: false, Help: "let random fillers repeat keys and values of the row"},
	},
	Presets: map[string]map[string]string{
		"small": {"vocab": "256", "train": "64/4*5,64/8,128/16", "test": "64/4,64/8,64/16,128/32"},
		"paper": {"vocab": "8192", "train": "64/4*5,128/8,256/16,256/32,256/64", "test": "64/4,64/8,64/16,128/32,256/64,512/128,1024/256"},
	},
	New: newMixture,
}

// mixture takes its batches from cells in turn.
type mixture struct {
	info  Info
	cells []Task
	turns [3][]int // of each split: the cells of one round
}

func newMixture(v option.Values) (Task, error) {
	m := &mixture{info: Info{Name: "mqar-mix", Vocab: v.Int("vocab"), Classes: v.Int("vocab"), Chance: 2 / float64(v.Int("vocab")), Aligned: true, Mixed: true, Values: v}}
	for _, splits := range [][]Split{{Train}, {Validation, Test}} {
		name := splits[0].String()
		if name != "train" {
			name = "test"
		}
		turns, err := m.parse(v, name)
		if err != nil {
			return nil, err
		}
		for _, s := range splits {
			m.turns[s] = turns
		}
	}
	for _, c := range m.cells {
		m.info.T = max(m.info.T, c.Info().T)
	}
	for _, c := range m.turns[Test] {
		m.info.Scored += m.cells[c].Info().Scored / float64(len(m.turns[Test]))
	}
	return m, nil
}

// parse reads cells; those of a large weight are spread over the round.
func (m *mixture) parse(v option.Values, name string) (turns []int, err error) {
	var weights []int
	first := len(m.cells)
	for _, word := range strings.Split(v.Word(name), ",") {
		length, pairs, weight := 0, 0, 1
		if n, _ := fmt.Sscanf(word, "%d/%d*%d", &length, &pairs, &weight); n < 2 || weight < 1 || weight > 1000 {
			return nil, impossible("mqar-mix", name, v[name], "%q must be len/pairs or len/pairs*weight", word)
		}
		cell := maps.Clone(v)
		cell["len"], cell["pairs"], cell["train"], cell["test"] = length, pairs, 0, 0
		if length < 4 || pairs < 1 {
			return nil, impossible("mqar-mix", name, v[name], "len of %q must be at least 4, pairs at least 1", word)
		}
		t, err := newMQAR(cell)
		if err != nil {
			return nil, fmt.Errorf("task mqar-mix: %s cell %q: %w", name, word, err)
		}
		m.cells, weights = append(m.cells, t), append(weights, weight)
	}
	for left := true; left; {
		left = false
		for i := range weights {
			if weights[i] > 0 {
				weights[i]--
				turns = append(turns, first+i)
				left = true
			}
		}
	}
	return turns, nil
}

func (m *mixture) Batch(split Split, seed uint64, index, rows int) (Batch, error) {
	if _, err := newBatch(m.info, split, index, 1); err != nil {
		return Batch{}, err
	}
	turns := m.turns[split]
	cell, at := turns[index%len(turns)], index%len(turns)
	each, before := 0, 0 // turns of this cell in a round, and before this one
	for i, c := range turns {
		if c == cell {
			each++
			if i < at {
				before++
			}
		}
	}
	return m.cells[cell].Batch(split, seed, index/len(turns)*each+before, rows)
}

// Oracle takes the cell by the shape of the batch.
func (m *mixture) Oracle(b Batch) []int32 {
	for i, name := range m.names() {
		if name == cellOf(b) {
			return m.cells[i].Oracle(b)
		}
	}
	return make([]int32, b.Rows*b.T)
}

func (m *mixture) names() []string {
	names := make([]string, len(m.cells))
	for i, c := range m.cells {
		v := c.Info().Values
		names[i] = fmt.Sprintf("%d/%d", v.Int("len"), v.Int("pairs"))
	}
	return names
}

// cellOf names the cell of a batch by its length and its first row's queries.
func cellOf(b Batch) string {
	_, _, mask := b.Row(0)
	pairs := 0
	for _, m := range mask {
		pairs += int(m)
	}
	return fmt.Sprintf("%d/%d", b.T, pairs)
}

func (m *mixture) Info() Info                           { return m.info }
func (m *mixture) Token(id int32) string                { return m.cells[0].Token(id) }
func (m *mixture) Class(id int32) string                { return m.Token(id) }
func (m *mixture) Lengths() []string                    { return nil }
func (m *mixture) Longer(f int, s string) (Task, error) { return nil, checkLonger(m, f, s) }

// Details sort batches by cell.
func (m *mixture) Details() []Detail {
	names := m.names()
	return []Detail{{"cell", names, func(b Batch) []int32 {
		bin, mine := make([]int32, b.Rows*b.T), cellOf(b)
		for i := range bin {
			bin[i] = -1
			for c, name := range names {
				if name == mine {
					bin[i] = int32(c)
					break
				}
			}
		}
		return bin
	}}}
}
