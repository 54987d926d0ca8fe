package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/kalmarz/kalmarz/datasets"
	"github.com/kalmarz/kalmarz/datasets/token"
)

// request is what generate is asked for.
type request struct {
	tokens []int32
	given  bool // by the user, not the start of a text or a test row
	n      int  // new tokens; -1: not said
	sampler
}

// generate continues a sequence with a trained model, token by token from the
// carried state. Without a prompt a synthetic task's test row is answered so.
func generate(ctx context.Context, s *Session, args []string) error {
	out, args := s.folder(args)
	prompt, ids, n, temperature, topK, topP, seed := "", "", "", "0", "0", "1", "1"
	words, err := readFlags(args, map[string]*string{"prompt": &prompt, "tokens": &ids, "n": &n,
		"temperature": &temperature, "top-k": &topK, "top-p": &topP, "seed": &seed}, nil)
	if err != nil {
		return err
	}
	if len(words) != 1 {
		return errors.New("expected one run: generate RUN [--prompt TEXT | --tokens 1,2,3]")
	}
	r := request{n: -1}
	if n != "" {
		if r.n, err = strconv.Atoi(n); err != nil || r.n < 1 || r.n > 1<<24 {
			return fmt.Errorf("--n %s: must be a whole number of tokens from 1", n)
		}
	}
	if r.sampler, err = readSampler(temperature, topK, topP, seed); err != nil {
		return err
	}
	l, err := named(out, words[0])
	if err != nil {
		return err
	}
	e, t, err := s.loadRun(l.dir)
	if err != nil {
		return err
	}
	text, _ := e.Task.(*datasets.Text)
	switch {
	case prompt != "" && ids != "":
		return errors.New("--prompt and --tokens: give one of them")
	case prompt != "" && text == nil:
		return fmt.Errorf("--prompt: %s has no text: give --tokens", e.Word("task"))
	case prompt != "":
		r.tokens, err = token.Encode(text.Tokenizer(), prompt)
	case ids != "":
		r.tokens, err = sequence(e, ids)
	case text != nil:
		r.tokens = []int32{text.Tokenizer().Separator()}
	}
	if err != nil {
		return err
	}
	r.given = ids != "" || prompt != ""
	switch info := e.Task.Info(); {
	case text != nil:
		err = s.continueText(ctx, t, r, text.Tokenizer())
	case info.Aligned && r.n >= 0:
		err = fmt.Errorf("--n %d: task %s is answered at its tokens, it has no next ones", r.n, info.Name)
	case info.Aligned || !r.given && r.n < 0:
		err = s.answerRow(ctx, t, r, l.r.Seed)
	default:
		err = s.continueTokens(ctx, t, r, l.r.Seed)
	}
	return err
}

func readSampler(temperature, topK, topP, seed string) (sampler, error) {
	heat, err := strconv.ParseFloat(temperature, 64)
	if err != nil || !(heat >= 0) || math.IsInf(heat, 0) {
		return sampler{}, fmt.Errorf("--temperature %s: must be a number >= 0; 0 = the likeliest token", temperature)
	}
	k, err := strconv.Atoi(topK)
	if err != nil || k < 0 {
		return sampler{}, fmt.Errorf("--top-k %s: must be a whole number of tokens; 0 = all", topK)
	}
	p, err := strconv.ParseFloat(topP, 64)
	if err != nil || !(p > 0 && p <= 1) {
		return sampler{}, fmt.Errorf("--top-p %s: must be in (0, 1]", topP)
	}
	number, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		return sampler{}, fmt.Errorf("--seed %s: must be a whole number", seed)
	}
	if heat == 0 && (k > 0 || p < 1) {
		return sampler{}, errors.New("--top-k and --top-p choose among drawn tokens: give a --temperature above 0")
	}
	return newSampler(heat, k, p, number), nil
}
