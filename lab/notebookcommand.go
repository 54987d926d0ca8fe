package lab

import (
	"context"
	"fmt"
	"strconv"

	"github.com/kalmarz/kalmarz/lab/notebook"
)

// notebooks sets up, checks, runs and writes notebooks.
func notebooks(ctx context.Context, s *Session, args []string) error {
	f := notebook.Flags{To: "runs/notebooks"}
	timeout := "900"
	words, err := readFlags(args, map[string]*string{"to": &f.To, "timeout": &timeout}, nil)
	if err != nil {
		return err
	}
	if f.Timeout, err = strconv.Atoi(timeout); err != nil || f.Timeout < 1 {
		return fmt.Errorf("--timeout %s: must be a whole number of seconds that a cell may take", timeout)
	}
	return notebook.Command(ctx, s.Out, words, f)
}
