// Package zeroshot scores language models on multiple-choice questions by the
// rules of EleutherAI's lm-evaluation-harness, without examples in the prompt.
// It knows questions and tokens, and asks a callback for log-probabilities.
package zeroshot

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kalmarz/kalmarz/datasets/token"
)

// Example is one question.
type Example struct {
	Choices []Choice
	Answer  int // the right choice
}

// Choice is a context and what may follow it. The continuation starts with a
// space.
type Choice struct{ Context, Continuation string }

// Request asks for the sum of ln p of the tokens from From on, each given all
// before it. From is at least 1.
type Request struct {
	Tokens []int32
	From   int
}

// Answer is a model's.
type Answer struct {
	LogProb float64 // sum over the tokens asked for
	Greedy  bool    // each of them is the most probable at its place
}

// Model answers requests in order.
type Model func([]Request) ([]Answer, error)

// Options of scoring.
type Options struct {
	MaxTokens int // tokens a model can be given; longer requests lose their start; 0: no limit
	Batch     int // requests asked for at once; 0: 32
}

// Result of a task. Accuracies and standard errors are in [0, 1].
type Result struct {
	Task          string
	N             int
	Acc, AccErr   float64 // the choice with the largest sum of ln p
	Norm, NormErr float64 // with the largest sum per character; if HasNorm
	HasNorm       bool
	Perplexity    float64 // of the last words; if not 0
	Chance        float64
	Truncated     int // requests that lost their start
}

// Score asks the model about every choice of every example.
func Score(k *Kind, examples []Example, t token.Tokenizer, model Model, o Options) (Result, error) {
	r := Result{Task: k.Name, N: len(examples), HasNorm: k.norm, Chance: k.Chance}
	if len(examples) == 0 {
		return r, fmt.Errorf("%s: no examples", k.Name)
	}
	if o.Batch <= 0 {
		o.Batch = 32
	}
	var requests []Request
	for _, e := range examples {
		for _, c := range e.Choices {
			q, cut, err := request(t, c, o.MaxTokens)
			if err != nil {
				return r, err
			}
			if cut {
				r.Truncated++
			}
			requests = append(requests, q)
		}
	}
	var answers []Answer
	for lo := 0; lo < len(requests); lo += o.Batch {
		part := requests[lo:min(lo+o.Batch, len(requests))]
		got, err := model(part)
		if err != nil {
			return r, err
		}
		if len(got) != len(part) {
			return r, fmt.Errorf("%s: %d answers to %d requests", k.Name, len(got), len(part))
		}
		for i, a := range got {
			if math.IsNaN(a.LogProb) {
				return r, fmt.Errorf("%s: the model's log-probability of request %d is NaN", k.Name, lo+i)
			}
		}
		answers = append(answers, got...)
	}
	right, rightNorm, nats := 0, 0, 0.0
	for _, e := range examples {
		mine := answers[:len(e.Choices)]
		answers = answers[len(e.Choices):]
		if k.greedy {
			if mine[0].Greedy {
				right++
			}
			nats -= mine[0].LogProb
			continue
		}
		sum, mean := make([]float64, len(mine)), make([]float64, len(mine))
		for i, a := range mine {
			sum[i], mean[i] = a.LogProb, a.LogProb/characters(e.Choices[i].Continuation)
		}
		if largest(sum) == e.Answer {
			right++
		}
		if largest(mean) == e.Answer {
			rightNorm++
		}
	}
	r.Acc, r.AccErr = rate(right, r.N)
	if k.norm {
		r.Norm, r.NormErr = rate(rightNorm, r.N)
	}
	if k.greedy {
		r.Perplexity = math.Exp(nats / float64(r.N))
	}
	return r, nil
}

// request encodes context and continuation together, so that a token may not
// bridge them, and splits where the context alone would end. Spaces that end the
// context belong to the continuation. Without a context, a separator is one.
func request(t token.Tokenizer, c Choice, most int) (q Request, cut bool, err error) {
	context := strings.TrimRightFunc(c.Context, unicode.IsSpace)
	whole, err := token.Encode(t, c.Context+c.Continuation)
	if err != nil {
		return q, false, err
	}
	before, err := token.Encode(t, context)
	if err != nil {
		return q, false, err
	}
	from := min(len(before), len(whole))
	if from == 0 {
		whole, from = append([]int32{t.Separator()}, whole...), 1
	}
	// The last token is asked for but not given.
	if over := len(whole) - 1 - most; most > 0 && over > 0 {
		whole, from, cut = whole[over:], max(1, from-over), true
	}
	return Request{whole, from}, cut, nil
}

// characters of a choice, without the space before it.
func characters(continuation string) float64 {
	return float64(utf8.RuneCountInString(strings.TrimPrefix(continuation, " ")))
}

// largest is the index of the first largest.
func largest(x []float64) int {
	best := 0
	for i := range x {
		if x[i] > x[best] {
			best = i
		}
	}
	return best
}

// rate is a share and its standard error.
func rate(right, n int) (p, err float64) {
	p = float64(right) / float64(n)
	if n > 1 {
		err = math.Sqrt(p * (1 - p) / float64(n-1))
	}
	return p, err
}
