package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/kalmarz/kalmarz/datasets"
	"github.com/kalmarz/kalmarz/datasets/token"
	"github.com/kalmarz/kalmarz/layers/mixer"
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

// decode reads a prompt, then n times chooses a token and, unless it is the last or
// yield ends it, reads it. It notes how fast that was.
func (s *Session) decode(ctx context.Context, t *trainer, r request, yield func(id int32) (more bool, err error)) error {
	be, err := s.open()
	if err != nil {
		return err
	}
	d, err := t.e.Model.NewDecoder(be, t.set, t.e.form(), len(r.tokens)+r.n)
	if err != nil {
		return err
	}
	logits, err := d.Read(r.tokens)
	if err != nil {
		return oneLine(err)
	}
	defer d.Close()
	made, begun := 0, time.Now()
	for more := true; more; {
		if ctx.Err() != nil {
			return fmt.Errorf("stopped after %d tokens", made)
		}
		id, err := r.pick(logits)
		if err != nil {
			return err
		}
		made++
		if more, err = yield(id); err != nil || !more || made == r.n {
			break
		}
		if logits, err = d.Read([]int32{id}); err != nil {
			return oneLine(err)
		}
		if made == 1 {
			begun = time.Now() // what came before was compiled first
		}
	}
	if err != nil {
		return err
	}
	state := 0
	for _, slots := range t.e.Model.Slots(len(r.tokens) + r.n) {
		state += mixer.Bytes(slots)
	}
	speed := "too few to time"
	if made > 2 {
		speed = short(float64(made-2)/time.Since(begun).Seconds()) + " tokens/s"
	}
	s.note(fmt.Sprintf("%d tokens read, %d generated: %s; the state takes %d B", len(r.tokens), made, speed, state))
	return nil
}

// continueText prints a prompt and what follows, until the text ends.
func (s *Session) continueText(ctx context.Context, t *trainer, r request, tokens token.Tokenizer) error {
	if r.n < 0 {
		r.n = 128
	}
	w := &textWriter{w: s.Out}
	if err := w.write(token.Decode(tokens, r.tokens)); err != nil {
		return err
	}
	err := s.decode(ctx, t, r, func(id int32) (bool, error) {
		return id != tokens.Separator(), w.write(tokens.Bytes(id))
	})
	return errors.Join(err, w.end())
}

// continueTokens prints the tokens that follow a prompt, or a test row up to its
// first answer, in the words of the task.
func (s *Session) continueTokens(ctx context.Context, t *trainer, r request, seed uint64) error {
	task := t.e.Task
	if r.n < 0 {
		r.n = 32
	}
	if !r.given {
		b, err := task.Batch(datasets.Test, seed, 0, 1)
		if err != nil {
			return err
		}
		in, _, mask := b.Row(0)
		first := 0
		for first < len(mask)-1 && mask[first] == 0 {
			first++
		}
		r.tokens = in[:first+1]
	}
	var made []int32
	err := s.decode(ctx, t, r, func(id int32) (bool, error) {
		made = append(made, id)
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, part := range []struct {
		name string
		ids  []int32
	}{{"prompt", r.tokens}, {"next", made}} {
		ids, names := make([]string, len(part.ids)), make([]string, len(part.ids))
		for i, id := range part.ids {
			ids[i], names[i] = strconv.Itoa(int(id)), task.Token(id)
		}
		if _, err := fmt.Fprintf(s.Out, "%-6s  %s\n        %s\n", part.name, strings.Join(names, " "), strings.Join(ids, ",")); err != nil {
			return err
		}
	}
	return nil
}

// answerRow reads a row token by token and shows what is answered at each token
// that counts; without --tokens it is the first test row, and what would be right
// stands beside it.
func (s *Session) answerRow(ctx context.Context, t *trainer, r request, seed uint64) error {
	task := t.e.Task
	b := datasets.Batch{Rows: 1, T: len(r.tokens), Inputs: r.tokens}
	if !r.given {
		var err error
		if b, err = task.Batch(datasets.Test, seed, 0, 1); err != nil {
			return err
		}
	}
	be, err := s.open()
	if err != nil {
		return err
	}
	d, err := t.e.Model.NewDecoder(be, t.set, t.e.form(), b.T)
	if err != nil {
		return err
	}
	rows := &table{header: []string{"position", "token", "answer"}}
	if !r.given {
		rows.header = append(rows.header, "right")
	}
	right := 0
	for i, id := range b.Inputs {
		if ctx.Err() != nil {
			return fmt.Errorf("stopped after %d tokens", i)
		}
		logits, err := d.Read([]int32{id})
		if err != nil {
			return oneLine(err)
		}
		answer, err := r.pick(logits)
		if err != nil {
			return err
		}
		line := []string{strconv.Itoa(i), task.Token(id), task.Class(answer)}
		switch {
		case r.given:
		case b.Mask[i] == 0:
			line[2], line = "", append(line, "")
		default:
			line = append(line, task.Class(b.Targets[i]))
			if answer == b.Targets[i] {
				right++
			}
		}
		rows.add(line...)
	}
	d.Close()
	text := rows.text()
	if !r.given {
		scored := 0
		for _, m := range b.Mask {
			scored += int(m)
		}
		text += fmt.Sprintf("%d of %d answers of the first test row are right\n", right, scored)
	}
	_, err = io.WriteString(s.Out, text)
	return err
}
