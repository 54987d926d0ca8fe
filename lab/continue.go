package lab

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kalmarz/kalmarz/datasets"
	"github.com/kalmarz/kalmarz/datasets/token"
	"github.com/kalmarz/kalmarz/layers/mixer"
)

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
		return explain(err, lessReading)
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
			return explain(err, lessReading)
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
