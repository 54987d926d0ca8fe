package zeroshot

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kalmarz/kalmarz/datasets/token"
)

func kind(t testing.TB, name string) *Kind {
	t.Helper()
	k, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestContextsAndChoices(t *testing.T) {
	for _, c := range []struct {
		kind, line string
		want       Example
	}{
		{"hellaswag", `{"activity_label":"Roof shingle removal","ctx_a":"A man [substeps] is  on a roof.","ctx_b":"he STARTS","endings":[" pulls [title] it","[x]b","c","d"],"label":"3"}`, Example{[]Choice{
			{"Roof shingle removal: A man is on a roof. He starts", " pulls. it"},
			{"Roof shingle removal: A man is on a roof. He starts", " b"},
			{"Roof shingle removal: A man is on a roof. He starts", " c"},
			{"Roof shingle removal: A man is on a roof. He starts", " d"}}, 3}},
		{"hellaswag", `{"activity_label":"Cut","ctx_a":"He cuts.","ctx_b":"","endings":["a","b","c","d"],"label":0}`, Example{[]Choice{
			{"Cut: He cuts.", " a"}, {"Cut: He cuts.", " b"}, {"Cut: He cuts.", " c"}, {"Cut: He cuts.", " d"}}, 0}},
		{"piqa", `{"goal":"boil eggs","sol1":"use water","sol2":"use air","label":1}`, Example{[]Choice{
			{"Question: boil eggs\nAnswer:", " use water"}, {"Question: boil eggs\nAnswer:", " use air"}}, 1}},
		{"winogrande", `{"sentence":"Ian was kinder than Dan so _ gave more.","option1":"Ian","option2":"Dan","answer":"2"}`, Example{[]Choice{
			{"Ian was kinder than Dan so Ian", " gave more."}, {"Ian was kinder than Dan so Dan", " gave more."}}, 1}},
		{"arc_easy", `{"question":"Which is hot?","choices":{"text":["ice","fire"],"label":["1","2"]},"answerKey":"2"}`, Example{[]Choice{
			{"Question: Which is hot?\nAnswer:", " ice"}, {"Question: Which is hot?\nAnswer:", " fire"}}, 1}},
		{"arc_easy", `{"question":{"stem":"Which is hot?","choices":[{"text":"ice","label":"A"},{"text":"fire","label":"B"}]},"answerKey":"A"}`, Example{[]Choice{
			{"Question: Which is hot?\nAnswer:", " ice"}, {"Question: Which is hot?\nAnswer:", " fire"}}, 0}},
		{"lambada", `{"text":"she went to the sea"}`, Example{[]Choice{{"she went to the", " sea"}}, 0}},
	} {
		got, err := kind(t, c.kind).Read(strings.NewReader(c.line+"\n\n"), "f")
		if err != nil || len(got) != 1 || got[0].Answer != c.want.Answer || !slices.Equal(got[0].Choices, c.want.Choices) {
			t.Errorf("%s: %+v, %v, want %+v", c.kind, got, err, c.want)
		}
	}
}

func TestBadLines(t *testing.T) {
	good := `{"goal":"g","sol1":"a","sol2":"b","label":1}` + "\n"
	for _, c := range []struct{ kind, text, want string }{
		{"piqa", "", "f: no questions in it"},
		{"piqa", good + "oh", "f:2: no JSON object: invalid character 'o'"},
		{"piqa", good + `{"goal":"g","sol1":"a","label":1}`, "f:2: no field sol2"},
		{"piqa", good + `{"goal":"g","sol1":"a","sol2":3,"label":1}`, "f:2: field sol2 = 3: must be text"},
		{"piqa", good + `{"goal":"g","sol1":"a","sol2":"b"}`, "f:2: no field label"},
		{"piqa", good + `{"goal":"g","sol1":"a","sol2":"b","label":2}`, "f:2: field label = 2: must be 0 to 1"},
		{"piqa", good + "{\"goal\":\"\xff\"}", "f:2: broken UTF-8"},
		{"winogrande", `{"sentence":"no blank","option1":"a","option2":"b","answer":"1"}`, `f:1: field sentence has no _: "no blank"`},
		{"winogrande", `{"sentence":"a _","option1":"a","option2":"b","answer":""}`, `f:1: field answer = "": must be 1 to 2`},
		{"hellaswag", `{"activity_label":"","ctx_a":"","ctx_b":"","endings":"a","label":0}`, `f:1: field endings = "a": must be a list of texts`},
		{"arc_easy", `{"question":"q","choices":{"text":["a"],"label":["A"]},"answerKey":"B"}`, `f:1: field answerKey = "B": must be one of the 1 choices' labels ["A"]`},
		{"lambada", `{"text":"word"}`, `f:1: field text has a single word: "word"`},
	} {
		_, err := kind(t, c.kind).Read(strings.NewReader(c.text), "f")
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s %q: error %v, want %s", c.kind, c.text, err, c.want)
		}
	}
	if _, err := Find("boolq"); err == nil || err.Error() != `unknown task "boolq": known are hellaswag, piqa, winogrande, arc_easy, lambada` {
		t.Errorf("error %v", err)
	}
}

// letters gives each byte asked for the log-probability of a table; the rest -9.
func letters(table map[byte]float64) Model {
	return func(requests []Request) ([]Answer, error) {
		answers := make([]Answer, len(requests))
		for i, q := range requests {
			answers[i].Greedy = true
			for _, id := range q.Tokens[q.From:] {
				p, ok := table[byte(id)]
				if !ok {
					p = -9
				}
				answers[i].LogProb += p
				answers[i].Greedy = answers[i].Greedy && p > -1
			}
		}
		return answers, nil
	}
}

// Sums and means by hand: with a at -1, b at -2, space and c at 0, " a" beats
// " bb" by sum and " bbcc" by neither; " aacccc" wins by mean only.
func TestScoreByHand(t *testing.T) {
	tok, err := token.New("bytes")
	if err != nil {
		t.Fatal(err)
	}
	model := letters(map[byte]float64{'a': -1, 'b': -2, 'c': 0, ' ': 0})
	question := func(answer int, choices ...string) Example { return oneContext("Q", choices, answer) }
	examples := []Example{
		question(0, "a", "bb"),     // sum -1 -4, mean -1 -2: right, right
		question(0, "a", "aacccc"), // sum -1 -2, mean -1 -1/3: right, wrong
		question(1, "a", "aacccc"), // wrong, right
		question(1, "ab", "ba"),    // a tie goes to the first: wrong, wrong
		question(0, "ab", "ba"),    // right, right
	}
	r, err := Score(kind(t, "piqa"), examples, tok, model, Options{Batch: 3})
	if err != nil {
		t.Fatal(err)
	}
	e := math.Sqrt(0.6 * 0.4 / 4)
	if r.N != 5 || r.Acc != 0.6 || r.Norm != 0.6 || math.Abs(r.AccErr-e) > 1e-12 || math.Abs(r.NormErr-e) > 1e-12 || !r.HasNorm || r.Perplexity != 0 || r.Truncated != 0 {
		t.Errorf("%+v", r)
	}
	words := []Example{oneContext("x", []string{"c"}, 0), oneContext("x", []string{"ccb"}, 0)}
	r, err = Score(kind(t, "lambada"), words, tok, model, Options{})
	if err != nil || r.Acc != 0.5 || math.Abs(r.Perplexity-math.E) > 1e-12 || r.HasNorm {
		t.Errorf("%+v, %v", r, err)
	}
}

// The length is in characters, not bytes: with equal sums per byte, ö counts
// once.
func TestCharacters(t *testing.T) {
	for text, want := range map[string]float64{" abc": 3, " öäü": 3, "abc": 3, "  ab": 3} {
		if got := characters(text); got != want {
			t.Errorf("%q: %g, want %g", text, got, want)
		}
	}
}

func TestRequests(t *testing.T) {
	bytes, _ := token.New("bytes")
	gpt2, err := token.New("gpt2")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tok         token.Tokenizer
		choice      Choice
		most        int
		given, asks string
		cut         bool
	}{
		{bytes, Choice{"ab", " cd"}, 0, "ab", " cd", false},
		{bytes, Choice{"ab  ", " cd"}, 0, "ab", "   cd", false}, // spaces move
		{bytes, Choice{"", " cd"}, 0, "", " cd", false},         // after a separator
		{bytes, Choice{"abcdef", " gh"}, 5, "def", " gh", true}, // 5 given, 3 asked
		{bytes, Choice{"abcdef", " gh"}, 8, "abcdef", " gh", false},
		{bytes, Choice{"ab", " cdefgh"}, 3, " cdefgh"[3:4], " cdefgh"[4:], true},
		{gpt2, Choice{"hello", " world."}, 0, "hello", " world.", false},
		{gpt2, Choice{"Answer: ", " fire"}, 0, "Answer:", "  fire", false},
	} {
		q, cut, err := request(c.tok, c.choice, c.most)
		if err != nil {
			t.Fatal(err)
		}
		given, asks := token.Decode(c.tok, q.Tokens[:q.From]), token.Decode(c.tok, q.Tokens[q.From:])
		if given != c.given || asks != c.asks || cut != c.cut || q.From < 1 {
			t.Errorf("%q + %q: given %q, asks %q, cut %v", c.choice.Context, c.choice.Continuation, given, asks, cut)
		}
	}
	if q, _, _ := request(bytes, Choice{"", " cd"}, 0); q.Tokens[0] != bytes.Separator() {
		t.Errorf("an empty context becomes %v", q.Tokens)
	}
}

func TestModelErrors(t *testing.T) {
	tok, _ := token.New("bytes")
	examples := []Example{oneContext("Q", []string{"a", "b"}, 0)}
	for want, model := range map[string]Model{
		"out of memory":                 func([]Request) ([]Answer, error) { return nil, errors.New("out of memory") },
		"piqa: 1 answers to 2 requests": func([]Request) ([]Answer, error) { return make([]Answer, 1), nil },
		"piqa: the model's log-probability of request 1 is NaN": func([]Request) ([]Answer, error) {
			return []Answer{{}, {LogProb: math.NaN()}}, nil
		},
	} {
		if _, err := Score(kind(t, "piqa"), examples, tok, model, Options{}); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if _, err := Score(kind(t, "piqa"), nil, tok, nil, Options{}); err == nil || err.Error() != "piqa: no examples" {
		t.Errorf("error %v", err)
	}
}
