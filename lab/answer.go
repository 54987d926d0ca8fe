package lab

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/kalmarz/kalmarz/datasets"
)

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
			return explain(err, lessReading)
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
