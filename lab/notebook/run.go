package notebook

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// run executes notebooks headless, each in a Jupyter process of its own and in
// its own folder, and keeps the executed copies in folder to. Cells that fail
// without Jupyter's noticing fail too.
func run(ctx context.Context, out io.Writer, repo string, paths []string, to string, timeout time.Duration) error {
	if err := ready(repo); err != nil {
		return err
	}
	jupyter, err := findJupyter(repo)
	if err != nil {
		return fmt.Errorf("missing: %w", err)
	}
	if to, err = filepath.Abs(to); err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	failed := 0
	for _, path := range paths {
		if _, err := read(path); err != nil {
			return err
		}
		begun := time.Now()
		executed := filepath.Join(to, filepath.Base(path))
		problems, cells, err := execute(ctx, jupyter, path, executed, timeout)
		if ctx.Err() != nil {
			return fmt.Errorf("%s: interrupted", path)
		}
		took := time.Since(begun).Seconds()
		if err == nil && len(problems) == 0 {
			fmt.Fprintf(out, "%s  %s, %.0f s  ok: %s\n", path, count(cells, "cell"), took, relative(executed))
			continue
		}
		failed++
		if err != nil {
			fmt.Fprintf(out, "%s  %.0f s  failed: %v\n", path, took, err)
		}
		for _, p := range problems {
			fmt.Fprintln(out, p)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%s of %d failed", count(failed, "notebook"), len(paths))
	}
	return nil
}

// execute runs one notebook and judges the copy with its outputs.
func execute(ctx context.Context, jupyter, path, executed string, timeout time.Duration) (problems []string, cells int, err error) {
	os.Remove(executed) // an old one proves nothing
	c := exec.CommandContext(ctx, jupyter, "nbconvert", "--to", "notebook", "--execute", "--allow-errors",
		"--ExecutePreprocessor.kernel_name="+kernelName, fmt.Sprintf("--ExecutePreprocessor.timeout=%.0f", timeout.Seconds()),
		"--output-dir", filepath.Dir(executed), "--output", filepath.Base(executed), path)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) } // so that it ends its kernel
	c.WaitDelay = 20 * time.Second
	var text bytes.Buffer
	c.Stdout, c.Stderr = &text, &text
	if err := c.Run(); err != nil {
		return nil, 0, failure("jupyter nbconvert", err, text.Bytes())
	}
	f, err := read(executed)
	if err != nil {
		return nil, 0, err
	}
	f.path = path
	problems, cells = f.judge()
	return problems, cells, nil
}

// What GoNB prints where a command of a cell fails, or is none, without failing
// the cell.
var silent = regexp.MustCompile(`(?m)^.*(exit status \d+|unknown or not implemented).*$`)

// compileError is what GoNB says of code that does not compile; what the
// compiler says is in HTML.
var compileError = regexp.MustCompile(`failed to run ".*go build .*": exit status \d+`)

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// judge lists what went wrong in an executed notebook.
func (f *file) judge() (problems []string, cells int) {
	for _, c := range f.Cells {
		if !c.code() {
			continue
		}
		cells++
		add := func(text string) {
			problems = append(problems, f.place(c.number, 0)+": "+strings.TrimSpace(colours.ReplaceAllString(text, "")))
		}
		said := ""
		for _, o := range c.Outputs {
			if o.Type == "stream" && o.Stream == "stderr" {
				said += string(o.Text)
			}
		}
		failed := false
		for _, o := range c.Outputs {
			if o.Type == "error" {
				failed = true
				add(firstLine(said, compileError.ReplaceAllString(o.Value, "does not compile: kalmarz notebook check says where"), o.Error))
			}
		}
		if m := silent.FindString(said); m != "" && !failed {
			failed = true
			add(firstLine(said, m))
		}
		if c.Count == nil && !failed {
			add("was not run")
		}
	}
	return problems, cells
}

// firstLine is the first line with something in it.
func firstLine(texts ...string) string {
	for _, t := range texts {
		for line := range strings.Lines(t) {
			if line = strings.TrimSpace(line); line != "" {
				return line
			}
		}
	}
	return "failed"
}
