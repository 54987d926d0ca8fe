package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// reproduce runs a recorded run again in a temporary folder and compares
// metrics, weights and evaluations to the byte. It fails if they differ.
func reproduce(ctx context.Context, s *Session, args []string) (err error) {
	out, rest := s.folder(args)
	if len(rest) != 1 {
		return errors.New("expected one run: repro RUN")
	}
	l, err := named(out, rest[0])
	if err != nil {
		return err
	}
	if !l.r.complete() {
		return fmt.Errorf("%s is %s: only a complete run can be repeated", l.dir, l.status())
	}
	e, err := l.r.experiment()
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(l.dir, "run.json"), err)
	}
	if s.Backend == "" && s.be == nil {
		s.Backend = l.r.platform()
	}
	if _, err := s.open(); err != nil {
		return err
	}
	for _, x := range [][3]string{
		{"program", l.r.Program, program()}, {"backend", l.r.platform(), s.choice.Config}, {"device", l.r.Device, s.choice.Device()},
	} {
		if x[1] != x[2] {
			s.note(fmt.Sprintf("warning: another %s: %q then, %q now", x[0], x[1], x[2]))
		}
	}
	dir, err := os.MkdirTemp("", "repro-*")
	if err != nil {
		return err
	}
	defer func() {
		if left := os.RemoveAll(dir); left != nil {
			err = errors.Join(err, left)
		}
	}()
	line := newProgressLine(s.Err, 1, e.Int("steps"))
	line.start(l.id + " again")
	r, err := s.run(ctx, e, l.r.Seed, dir, line.step)
	line.clear()
	if err != nil {
		return err
	}
	lines, err := differences(l.dir, dir)
	if err != nil {
		return err
	}
	if l.r.DataHash != "" && l.r.DataHash != r.DataHash {
		lines = append([]string{fmt.Sprintf("data: hash %s, and %s", short8(l.r.DataHash), short8(r.DataHash))}, lines...)
	}
	if len(lines) == 0 {
		_, err := fmt.Fprintf(s.Out, "%s is reproduced: %d steps of metrics, weights and evaluations are the same to the byte\n", l.dir, r.Step)
		return err
	}
	for _, d := range lines {
		if _, err := fmt.Fprintln(s.Out, d); err != nil {
			return err
		}
	}
	return errFailed
}
