// Package needle writes prompts for language models that hide one fact in a long
// text, in the three single-needle forms of RULER (arXiv 2404.06654):
//
//	1  a number among five stock sentences repeated
//	2  a number within an essay
//	3  a UUID within an essay
package needle

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Settings of a set of prompts. Each prompt is a function of Settings and its
// index alone.
type Settings struct {
	Form   int // 1, 2 or 3
	Tokens int // prompt and answer must fit in so many
	Seed   uint64
	// Count counts the tokens of a text.
	Count func(string) (int, error)
	// Essay is the text of forms 2 and 3, repeated if it is too short.
	Essay string
}

// Sample is one prompt.
type Sample struct {
	Prompt, Key, Answer string
	Depth               float64 // of the needle in the haystack, in [0, 1]
}

// NewTokens is how many tokens a model may answer with.
const NewTokens = 128

// Samples is how many prompts the protocol asks about, and Seed its seed.
const (
	Samples = 500
	Seed    = 42
)

// Right tells whether an output contains the answer, in any case of letters.
func (s Sample) Right(output string) bool {
	return strings.Contains(strings.ToLower(output), strings.ToLower(s.Answer))
}

// Set makes prompts of the largest haystack that fits.
type Set struct {
	Settings
	units []string // stock sentences, or words of the essay
	size  int      // units of a haystack
}

const stock = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."

// New finds the haystack's size.
func New(s Settings) (*Set, error) {
	if s.Form < 1 || s.Form > 3 {
		return nil, fmt.Errorf("needle: form %d: must be 1, 2 or 3", s.Form)
	}
	set := &Set{Settings: s, units: []string{stock}}
	if s.Form > 1 {
		if set.units = strings.Fields(s.Essay); len(set.units) == 0 {
			return nil, fmt.Errorf("needle: form %d needs an essay", s.Form)
		}
	}
	fits := func(size int) (bool, error) {
		sample := set.make(0, size)
		n, err := s.Count(sample.Prompt)
		return n+NewTokens <= s.Tokens, err
	}
	// The size that fits is in [lo, hi).
	lo, hi := 0, 1
	for {
		ok, err := fits(hi)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		lo, hi = hi, 2*hi
	}
	for lo+1 < hi {
		middle := (lo + hi) / 2
		ok, err := fits(middle)
		if err != nil {
			return nil, err
		}
		if ok {
			lo = middle
		} else {
			hi = middle
		}
	}
	if lo == 0 {
		return nil, fmt.Errorf("needle: %d tokens: too few for the needle, the question and an answer of %d", s.Tokens, NewTokens)
	}
	set.size = lo
	return set, nil
}

// Sample makes prompt i. Keys and answers differ in length, so that its haystack
// may be a little smaller than the set's.
func (s *Set) Sample(i int) (Sample, error) {
	for size := s.size; size > 0; size -= max(1, size/100) {
		sample := s.make(i, size)
		n, err := s.Count(sample.Prompt)
		if err != nil {
			return Sample{}, err
		}
		if n+NewTokens <= s.Tokens {
			return sample, nil
		}
	}
	return Sample{}, fmt.Errorf("needle: prompt %d does not fit in %d tokens", i, s.Tokens)
}

func (s *Set) make(i, size int) Sample {
	r := rand.New(rand.NewPCG(s.Seed, uint64(s.Form)<<32|uint64(i)))
	key := adjectives[r.IntN(len(adjectives))] + "-" + nouns[r.IntN(len(nouns))]
	kind, answer := "number", fmt.Sprint(1_000_000+r.IntN(9_000_000))
	if s.Form == 3 {
		kind, answer = "uuid", uuid(r)
	}
	needle := fmt.Sprintf("One of the special magic %ss for %s is: %s.", kind, key, answer)
	sample := Sample{Key: key, Answer: answer}
	var context string
	if s.Form == 1 {
		at := r.IntN(size)
		sample.Depth = float64(at) / float64(size)
		lines := make([]string, 0, size+1)
		for j := range size {
			if j == at {
				lines = append(lines, needle)
			}
			lines = append(lines, stock)
		}
		context = strings.Join(lines, "\n")
	} else {
		sentences := s.sentences(size)
		sample.Depth = float64(r.IntN(depths)) / (depths - 1)
		at := int(sample.Depth * float64(len(sentences)))
		parts := append([]string{}, sentences[:at]...)
		parts = append(append(parts, needle), sentences[at:]...)
		context = strings.Join(parts, " ")
	}
	sample.Prompt = fmt.Sprintf("A special magic %[1]s is hidden within the following text. Make sure to memorize it. I will quiz you about the %[1]s afterwards.\n%[2]s\n"+
		"What is the special magic %[1]s for %[3]s mentioned in the provided text? The special magic %[1]s for %[3]s mentioned in the provided text is", kind, context, key)
	return sample
}

// depths is the number of places, evenly from start to end.
const depths = 40

// sentences of the essay's first words, as many as size.
func (s *Set) sentences(size int) []string {
	var all []string
	var words []string
	for i := range size {
		word := s.units[i%len(s.units)]
		words = append(words, word)
		end := strings.TrimRight(word, `"')`)
		if strings.HasSuffix(end, ".") || strings.HasSuffix(end, "!") || strings.HasSuffix(end, "?") {
			all = append(all, strings.Join(words, " "))
			words = words[:0]
		}
	}
	if len(words) > 0 {
		all = append(all, strings.Join(words, " "))
	}
	return all
}

// uuid is a random UUID, version 4.
func uuid(r *rand.Rand) string {
	hi, lo := r.Uint64(), r.Uint64()
	hi = hi&^0xF000 | 0x4000
	lo = lo&^(3<<62) | 2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", hi>>32, hi>>16&0xFFFF, hi&0xFFFF, lo>>48, lo&(1<<48-1))
}
