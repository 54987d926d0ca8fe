package lab

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/kalmarz/kalmarz/datasets"
	"github.com/kalmarz/kalmarz/layers/option"
)

// oneTask shows rows of a task, or checks what it promises.
func oneTask(_ context.Context, s *Session, args []string) error {
	show, split, seed, rows, check := "", "test", "1", "1000", false
	words, err := readFlags(args, map[string]*string{"show": &show, "split": &split, "seed": &seed, "rows": &rows}, map[string]*bool{"check": &check})
	if err != nil {
		return err
	}
	if check == (show != "") {
		return fmt.Errorf("give --show N or --check")
	}
	count, what := rows, "rows"
	if show != "" {
		count, what = show, "show"
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 {
		return fmt.Errorf("--%s %s: must be a whole number of rows, at least 1", what, count)
	}
	from, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		return fmt.Errorf("--seed %s: must be a whole number, at least 0", seed)
	}
	part := datasets.Split(len(datasets.Splits))
	for _, p := range datasets.Splits {
		if p.String() == split {
			part = p
		}
	}
	if int(part) == len(datasets.Splits) {
		return fmt.Errorf("--split %s: must be train, validation or test", split)
	}
	k, t, err := openTask(words)
	if err != nil {
		return err
	}
	s.noteSkipped(t)
	if check {
		return checkTask(s.Out, t, n)
	}
	return showTask(s.Out, k, t, part, from, n)
}

// showTask prints rows under a heading that says how to read them.
func showTask(w io.Writer, k *datasets.Kind, t datasets.Task, split datasets.Split, seed uint64, rows int) error {
	b, err := t.Batch(split, seed, 0, rows)
	if err != nil {
		return err
	}
	info := t.Info()
	var values []string
	for _, o := range k.Options {
		values = append(values, o.Name+"="+option.Format(info.Values[o.Name]))
	}
	rule := "a target is the next input"
	if info.Aligned {
		rule = "a target is the answer due at the input above it"
	}
	if info.FromLast {
		rule = "a target is the answer due at the input above it, to be decoded from the last position's vector"
	}
	dense := ""
	if split != datasets.Train && info.Unmasked {
		dense = "; in training every position is scored (--split train)"
	}
	if _, err := fmt.Fprintf(w, "%s: %s\n%s\n%d input ids, %d classes, %d positions, %.4g scored in a test row, chance %.3g %%\n%s%s; no target: not scored (mask 0)%s\n",
		k.Name, k.Doc, strings.Join(values, " "), info.Vocab, info.Classes, info.T, info.Scored, 100*info.Chance, supply(t), rule, dense); err != nil {
		return err
	}
	for row := range rows {
		if _, err := fmt.Fprintf(w, "\n%s row %d, seed %d\n%s", split, row, seed, datasets.Show(t, b, row, columns(w))); err != nil {
			return err
		}
	}
	return nil
}

// supply is a line on how many rows there are, if they end, and of what text.
func supply(t datasets.Task) string {
	info := t.Info()
	if info.Pool == [3]int{} {
		return ""
	}
	var parts []string
	text, language := t.(*datasets.Text)
	for _, split := range datasets.Splits {
		part := fmt.Sprintf("%s %d", split, info.Pool[split])
		if info.Pool[split] == 0 {
			part = split.String() + " without end"
		}
		if language {
			tokens, bytes := text.Size(split)
			part += fmt.Sprintf(" (%d tokens, %d bytes)", tokens, bytes)
		}
		parts = append(parts, part)
	}
	line := "rows: " + strings.Join(parts, ", ")
	if language {
		line += fmt.Sprintf("; %d documents", text.Documents())
	}
	return line + "\n"
}

// noteSkipped tells what of a text could not be read.
func (s *Session) noteSkipped(t datasets.Task) {
	text, ok := t.(*datasets.Text)
	if !ok || text.Skipped().Count == 0 {
		return
	}
	k := text.Skipped()
	s.note(fmt.Sprintf("warning: %d parts of the text were skipped:", k.Count))
	for _, why := range k.Named {
		s.note("  " + why)
	}
}

// columns is the width of a terminal, and 100 elsewhere.
func columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok && terminal(w) {
		if wide, _, err := term.GetSize(int(f.Fd())); err == nil && wide > 20 {
			return wide
		}
	}
	return 100
}

// checkTask prints what was checked, and fails if something does not hold.
func checkTask(w io.Writer, task datasets.Task, rows int) error {
	t := &table{header: []string{"check", "", "found"}}
	failed := false
	for _, f := range datasets.Check(task, rows) {
		verdict, found := "ok", f.Detail
		if f.Err != nil {
			verdict, found, failed = "FAILED", f.Err.Error(), true
		}
		t.add(f.Name, verdict, found)
	}
	if _, err := io.WriteString(w, t.text()); err != nil {
		return err
	}
	if failed {
		return errFailed
	}
	return nil
}
