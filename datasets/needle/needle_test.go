package needle

import (
	"regexp"
	"strings"
	"testing"

	"github.com/kalmarz/kalmarz/datasets/token"
)

const essay = "It was a dark night. \"Who is there?\" he said! Nobody answered, and so on and on it went. "

func set(t *testing.T, form, tokens int, name string) *Set {
	t.Helper()
	tok, err := token.New(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Settings{Form: form, Tokens: tokens, Seed: Seed, Essay: essay, Count: func(text string) (int, error) {
		ids, err := token.Encode(tok, text)
		return len(ids), err
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var answers = [4]*regexp.Regexp{
	1: regexp.MustCompile(`^[1-9]\d{6}$`),
	2: regexp.MustCompile(`^[1-9]\d{6}$`),
	3: regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`),
}

// Every prompt holds its needle once, asks for it, and is as long as it may be.
func TestPrompts(t *testing.T) {
	samples := 100
	if testing.Short() {
		samples = 30
	}
	for form := 1; form <= 3; form++ {
		for _, tokenizer := range token.Names {
			L := 1024
			if tokenizer == "bytes" {
				L = 4096
			}
			s := set(t, form, L, tokenizer)
			depths := map[int]int{}
			keys := map[string]bool{}
			for i := range samples {
				sample, err := s.Sample(i)
				if err != nil {
					t.Fatal(err)
				}
				again, err := s.Sample(i)
				if err != nil || again != sample {
					t.Fatalf("form %d prompt %d differs when made again (%v)", form, i, err)
				}
				n, _ := s.Count(sample.Prompt)
				if n+NewTokens > L || n+NewTokens < L-60-L/20 {
					t.Errorf("form %d prompt %d has %d tokens of %d", form, i, n, L)
				}
				kind := "number"
				if form == 3 {
					kind = "uuid"
				}
				needle := "One of the special magic " + kind + "s for " + sample.Key + " is: " + sample.Answer + "."
				question := "\nWhat is the special magic " + kind + " for " + sample.Key + " mentioned in the provided text? The special magic " + kind + " for " + sample.Key + " mentioned in the provided text is"
				if strings.Count(sample.Prompt, needle) != 1 || strings.Count(sample.Prompt, sample.Answer) != 1 || !strings.HasSuffix(sample.Prompt, question) ||
					!strings.HasPrefix(sample.Prompt, "A special magic "+kind+" is hidden within the following text. Make sure to memorize it. I will quiz you about the "+kind+" afterwards.\n") {
					t.Fatalf("form %d prompt %d: %s", form, i, sample.Prompt)
				}
				if !answers[form].MatchString(sample.Answer) {
					t.Errorf("form %d: answer %s", form, sample.Answer)
				}
				// It stands where its depth says.
				body := strings.TrimSuffix(sample.Prompt, question)
				at := float64(strings.Index(body, needle)) / float64(len(body)-len(needle))
				if at < sample.Depth-0.1 || at > sample.Depth+0.15 {
					t.Errorf("form %d prompt %d: needle at %.2f, depth %.2f", form, i, at, sample.Depth)
				}
				depths[int(4*min(sample.Depth, 0.999))]++
				keys[sample.Key] = true
				if !sample.Right("It is "+strings.ToUpper(sample.Answer)+"!") || sample.Right("It is 123") {
					t.Errorf("form %d: the answer is not recognised", form)
				}
			}
			if len(depths) != 4 || len(keys) < samples*9/10 {
				t.Errorf("form %d: depths %v, %d keys", form, depths, len(keys))
			}
		}
	}
}

func TestStock(t *testing.T) {
	s := set(t, 1, 1024, "bytes")
	sample, err := s.Sample(0)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(sample.Prompt, "\n")
	for _, line := range lines[1 : len(lines)-1] {
		if line != stock && !strings.HasPrefix(line, "One of the special magic numbers for "+sample.Key) {
			t.Errorf("line %q", line)
		}
	}
}

func TestErrors(t *testing.T) {
	count := func(text string) (int, error) { return len(text), nil }
	for want, s := range map[string]Settings{
		"needle: form 4: must be 1, 2 or 3":                                             {Form: 4, Tokens: 1000, Count: count},
		"needle: form 2 needs an essay":                                                 {Form: 2, Tokens: 1000, Count: count},
		"needle: 300 tokens: too few for the needle, the question and an answer of 128": {Form: 1, Tokens: 300, Count: count},
	} {
		if _, err := New(s); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
