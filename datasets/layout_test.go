package datasets

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// share is the part of scored positions in the first bin of a detail.
func share(b Batch, d Detail) float64 {
	first, all := 0, 0
	for i, bin := range d.Bin(b) {
		if b.Mask[i] == 0 {
			continue
		}
		all++
		if bin == 0 {
			first++
		}
	}
	return float64(first) / float64(all)
}

// Most stacks are shallow: 82 % of pops at T = 256 and 55 % at 1024 empty one.
func TestStackDepth(t *testing.T) {
	for options, want := range map[string]float64{"preset=kimi-256": 0.82, "preset=paper": 0.55} {
		task := open(t, "stack", options)
		b := batch(t, task, Test, 0, 0, 1000)
		if got := share(b, task.Details()[0]); math.Abs(got-want) > 0.02 {
			t.Errorf("%s: %.3f of pops at depth 1, want %.2f", options, got, want)
		}
	}
}

func TestNiahLayout(t *testing.T) {
	for _, c := range []struct {
		options string
		words   int // different haystack ids of a row
	}{{"preset=paper", 8}, {"preset=essay", 4}, {"preset=uuid", 4}, {"preset=decoys", 0}} {
		task := open(t, "niah", c.options)
		v := task.Info().Values
		m, K, T := v.Int("value"), v.Int("keys"), task.Info().T
		b := batch(t, task, Test, 0, 0, 400)
		depths := make([]int, 8)
		bins := task.Details()[0].Bin(b)
		for row := range b.Rows {
			in, target, mask := b.Row(row)
			at, query := slices.Index(in, niahMark), slices.Index(in, niahQuery)
			depths[bins[row*T]]++
			words := map[int32]bool{}
			for i, x := range in {
				inNeedle := i >= at && i < at+m+2
				if i < query && !inNeedle && x < niahHaystack {
					words[x] = true
				}
				if (mask[i] == 1) != (i > query) {
					t.Fatalf("row %d at %d: mask %g", row, i, mask[i])
				}
				if x == niahMark && i != at {
					t.Fatalf("row %d: two needles", row)
				}
			}
			key, value := in[at+1], in[at+2:at+2+m]
			if query != T-m-1 || at+m+2 >= query || key < niahKey || int(key) >= niahKey+K ||
				in[query+1] != key || !slices.Equal(target[query+1:], value) || len(words) != c.words {
				t.Fatalf("%s row %d: needle at %d, query at %d, %d words: %v", c.options, row, at, query, len(words), in)
			}
		}
		for bin, n := range depths {
			if math.Abs(float64(n)-50) > 3*math.Sqrt(50*7.0/8) {
				t.Errorf("%s: %d of 400 needles in depth bin %d", c.options, n, bin)
			}
		}
	}
}

func TestKimiAndPalindromeShapes(t *testing.T) {
	for _, c := range []struct {
		task, options string
		T             int
		scored        float64
	}{
		{"mqar-kimi", "preset=kimi-256", 193, 64},
		{"mqar-kimi", "pairs=4 queries=20", 29, 20},
		{"palindrome", "preset=kimi-256", 255, 126},
		{"palindrome", "preset=kimi-256 bar=true", 255, 127},
		{"palindrome", "", 17, 8},
	} {
		info := open(t, c.task, c.options).Info()
		if info.T != c.T || math.Abs(info.Scored-c.scored) > 0.5 {
			t.Errorf("%s %s: T = %d, %g scored: want %d, %g", c.task, c.options, info.T, info.Scored, c.T, c.scored)
		}
	}
}

// text writes a row by its tokens.
func text(task Task, in []int32) string {
	var s strings.Builder
	for _, x := range in {
		s.WriteString(task.Token(x))
	}
	return strings.TrimRight(s.String(), "_")
}

// Words and their answers, worked out by hand.
func TestLanguagesByHand(t *testing.T) {
	for _, c := range []struct{ task, word, answer string }{
		{"parity", "aab", "o"}, {"parity", "abab", "e"}, {"parity", "aaa", "e"},
		{"even-pairs", "abba", "="}, {"even-pairs", "aab", "≠"}, {"even-pairs", "bb", "="},
		{"cycle-nav", "+++", "3"}, {"cycle-nav", "--0", "3"}, {"cycle-nav", "+-+++++", "0"},
		{"mod-arithmetic", "2+3*4=", "4"}, {"mod-arithmetic", "1-2*3=", "0"}, {"mod-arithmetic", "2*3*4-1+4=", "2"}, {"mod-arithmetic", "3=", "3"},
		{"mod-arithmetic-brackets", "-2=", "3"}, {"mod-arithmetic-brackets", "(-4)=", "1"}, {"mod-arithmetic-brackets", "((1+2)*-2)=", "4"},
		{"mod-arithmetic-brackets", "(2-(3*4))=", "0"}, {"mod-arithmetic-brackets", "(-1-2)=", "2"}, {"mod-arithmetic-brackets", "0=", "0"},
	} {
		task := open(t, c.task, "min=16 max=24")
		b := Batch{Rows: 1, T: task.Info().T}
		b.Inputs, b.Targets, b.Mask = make([]int32, b.T), make([]int32, b.T), make([]float32, b.T)
		for i, letter := range strings.Split(c.word, "") {
			for id := range int32(task.Info().Vocab) {
				if task.Token(id) == letter {
					b.Inputs[i] = id
				}
			}
		}
		last := len(c.word) - 1
		b.Mask[last] = 1
		if got := task.Class(task.Oracle(b)[last]); got != c.answer {
			t.Errorf("%s %s: %s, want %s", c.task, c.word, got, c.answer)
		}
	}
}

// Words have all lengths from min to max, brackets match, and only the last
// position is scored.
func TestLanguageShapes(t *testing.T) {
	for _, name := range []string{"parity", "even-pairs", "cycle-nav", "mod-arithmetic", "mod-arithmetic-brackets"} {
		task := open(t, name, "preset=paper")
		b := batch(t, task, Train, 0, 0, 2000)
		lengths := map[int]int{}
		for row := range b.Rows {
			in, _, mask := b.Row(row)
			word := text(task, in)
			lengths[len(word)]++
			if mask[len(word)-1] != 1 {
				t.Fatalf("%s: %q is not scored at its end", name, word)
			}
			if strings.Count(word, "(") != strings.Count(word, ")") {
				t.Fatalf("%s: %q does not match", name, word)
			}
			if strings.HasPrefix(name, "mod") && strings.Index(word, "=") != len(word)-1 {
				t.Fatalf("%s: %q", name, word)
			}
		}
		step := 1
		if name == "mod-arithmetic" {
			step = 2
		}
		for n := 4; n <= 40; n += step {
			if lengths[n] == 0 {
				t.Errorf("%s: no word of length %d", name, n)
			}
		}
	}
}

// Longer forms keep the rule and grow as they say.
func TestLonger(t *testing.T) {
	for _, k := range Registry {
		task := open(t, k.Name, "")
		for _, mode := range task.Lengths() {
			factor := 2
			longer, err := task.Longer(factor, mode)
			if err != nil {
				t.Errorf("%s %s: %v", k.Name, mode, err)
				continue
			}
			if got, low := longer.Info().T, (factor*task.Info().T)-2; got < low || got > low+4 {
				t.Errorf("%s %s: T = %d from %d", k.Name, mode, got, task.Info().T)
			}
			b := batch(t, longer, Test, 0, 0, 100)
			if answers := longer.Oracle(b); answers == nil {
				continue // a language
			} else if s := evaluate(t, longer, b, answers); s.Micro != 1 {
				t.Errorf("%s %s: oracle %+v", k.Name, mode, s)
			}
			same, err := task.Longer(1, mode)
			if err != nil || !batch(t, same, Test, 0, 0, 5).equal(batch(t, task, Test, 0, 0, 5)) {
				t.Errorf("%s %s: once its length is another task (%v)", k.Name, mode, err)
			}
		}
	}
}

// Details name a bin for every scored position.
func TestDetails(t *testing.T) {
	each(t, func(t *testing.T, task Task) {
		b := batch(t, task, Test, 0, 0, 20)
		for _, d := range task.Details() {
			sum := 0
			for bin := range d.Bins {
				sum += evaluate(t, task, d.Only(b, int32(bin)), b.Targets).Scored
			}
			if all := evaluate(t, task, b, b.Targets).Scored; sum != all {
				t.Errorf("%s: %d of %d scored positions are in bins", d.Name, sum, all)
			}
		}
	})
}

func TestTokensHaveNames(t *testing.T) {
	each(t, func(t *testing.T, task Task) {
		names := map[string]int32{}
		for id := range int32(min(task.Info().Vocab, 500)) {
			name := task.Token(id)
			if old, ok := names[name]; ok || name == "" {
				t.Fatalf("ids %d and %d are both called %q", old, id, name)
			}
			names[name] = id
		}
		for id := range int32(min(task.Info().Classes, 500)) {
			if task.Class(id) == "" {
				t.Fatalf("class %d has no name", id)
			}
		}
	})
}

// So few words exist that no split can be made of them.
func TestTooSmallToSplit(t *testing.T) {
	task := open(t, "words", "group=z2 len=1")
	failed := 0
	for _, split := range Splits {
		if _, err := task.Batch(split, 0, 0, 1); err != nil {
			failed++
			want := fmt.Sprintf("task words: no row for %s in 10000 draws: so few distinct rows exist that they cannot be split", split)
			if err.Error() != want {
				t.Errorf("error %q, want %q", err, want)
			}
		}
	}
	if failed == 0 {
		t.Error("two words filled three splits")
	}
}
