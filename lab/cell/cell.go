// Package cell is what a notebook's cells call. A cell is a program of its own,
// so values do not outlive it: what a later cell needs is in files, runs in runs/
// and figures in figures/, below the notebook's folder.
//
//	cell.Run("ablate eta 0.25 0.5 1 steps=%d", 200*scale)   // any commands: live plot, tables, figures
//	cell.Show("projection", &viz.Figure{...})               // a figure of one's own, saved and shown
//	cell.Table("token value", cell.Row{1, 0.25})            // a table
//	cell.Newest("runs/ablate-eta-*")                        // where an earlier cell left its runs
//	cell.Must(err)                                          // ends the cell if there is an error
//
// A cell that fails ends with one line on its standard error and exit status 1:
// a returned error would be easily lost in a notebook. Outside a notebook the
// same calls print plain text.
package cell

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/kalmarz/kalmarz/lab"
	"github.com/kalmarz/kalmarz/lab/backend"
	"github.com/kalmarz/kalmarz/viz"
)

// Row is a line of a table.
type Row = []any

// out is what the cell shows things on; tests put another in its place.
var out = newOutput()

// Run performs lines of the command language, as at the prompt of kalmarz: the
// tables are shown as tables, the figures in place, and training as a curve that
// is drawn while it goes on. An interrupt ends it after the step; what was
// recorded stays.
func Run(format string, args ...any) { Must(run(fmt.Sprintf(format, args...))) }

func run(lines string) error {
	if lab.IsWorker() {
		work()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := out.session().Do(ctx, "cell.Run", lines)
	out.flush()
	if err != nil {
		return fmt.Errorf("%s", out.plain(err.Error()))
	}
	return nil
}

// Show saves a figure as figures/NAME.svg, .png, .pdf and .csv and shows it.
func Show(name string, f *viz.Figure) { Must(show(name, f)) }

func show(name string, f *viz.Figure) error {
	if lab.IsWorker() {
		return nil
	}
	saved, err := f.Save("figures", name, viz.Notebook())
	if err != nil {
		return err
	}
	defer out.flush()
	return out.figure(saved.Files[0], filepath.ToSlash(saved.Files[0])+" (also .png, .pdf, .csv)")
}

// Newest returns the file or folder that was written last among those that
// match a pattern of path/filepath.
func Newest(pattern string) string {
	path, err := newest(pattern)
	Must(err)
	return path
}

func newest(pattern string) (string, error) {
	found, err := filepath.Glob(pattern)
	if err != nil {
		return "", fmt.Errorf("cell.Newest: %s: %w", pattern, err)
	}
	best, written := "", time.Time{}
	for _, path := range found {
		if info, err := os.Stat(path); err == nil && info.ModTime().After(written) {
			best, written = path, info.ModTime()
		}
	}
	if best == "" {
		return "", fmt.Errorf("cell.Newest: %s: there is none: run the cell that makes it", pattern)
	}
	return best, nil
}

// Must ends the cell if err is not nil.
func Must(err error) {
	if err == nil {
		return
	}
	out.flush()
	fmt.Fprintln(os.Stderr, said(err))
	os.Exit(1)
}

// said is an error as a cell ends with it: a graph of the cell's own that finds no
// memory on its device names what helps, as those of Run do.
func said(err error) string {
	if _, full := backend.OutOfMemory(err); full {
		return backend.Reason(err)
	}
	return err.Error()
}

// newSession returns the session of a cell's process.
func newSession(o *output) *lab.Session {
	if o.d == nil {
		return lab.NewSession(os.Stdout, os.Stderr)
	}
	lab.Tables = o.keep
	return lab.NewSession(o, o.live)
}
