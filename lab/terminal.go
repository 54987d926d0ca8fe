package lab

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync/atomic"

	"github.com/chzyer/readline"
	"golang.org/x/term"
)

const (
	prompt         = "kalmarz> "
	continuePrompt = "      \\> "
)

// terminalReader edits lines on a terminal, with history and completion. All
// that the program knows of the line editor is in this file.
type terminalReader struct {
	edit  *readline.Instance
	stdin *readline.CancelableStdin
	keys  *keys
	asked rune // the key that leaves if it comes again, or 0
	note  io.Writer
}

// newTerminalReader takes over standard input and output. complete gets the
// text before the cursor, the number of columns and a way to show candidates,
// and returns what to insert. history may be empty.
func newTerminalReader(history string, complete func(text string, wide int, show func(string)) string) (*terminalReader, error) {
	k := &keys{in: os.Stdin}
	k.empty.Store(true)
	t := &terminalReader{keys: k, stdin: readline.NewCancelableStdin(k), note: os.Stderr}
	wide, resized := width(), func() {}
	config := &readline.Config{
		Prompt: prompt, Stdin: t.stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		HistoryFile: history, HistoryLimit: 2 * historyLines, HistorySearchFold: true,
		FuncGetWidth: width,
		// The editor takes a new width without a lock, so it gets it in its own
		// goroutine, with the next key.
		FuncOnWidthChanged: func(take func()) { resized = take },
		FuncFilterInputRune: func(r rune) (rune, bool) {
			if now := width(); now != wide {
				wide = now
				resized()
			}
			return harmless(r), true
		},
	}
	config.SetListener(func(line []rune, _ int, _ rune) ([]rune, int, bool) {
		k.empty.Store(len(line) == 0)
		return nil, 0, false
	})
	config.AutoComplete = completer(func(text string) string {
		return complete(text, width(), func(s string) { io.WriteString(t.edit.Stdout(), s) })
	})
	edit, err := readline.NewEx(config)
	if err != nil {
		return nil, err
	}
	t.edit = edit
	if history == "" {
		edit.SaveHistory("help") // leaving a search of an empty history panics
	}
	return t, nil
}

func (t *terminalReader) Next() (string, error) {
	for {
		line, err := t.edit.Readline()
		switch {
		case err == nil:
			t.asked = 0
			return line, nil
		case errors.Is(err, readline.ErrInterrupt):
			if line == "" && t.leave(readline.CharInterrupt, "Ctrl-C again, or quit, leaves\n") {
				return "", errLeave
			}
			if line != "" {
				t.asked = 0
			}
			return "", errDropped
		case !errors.Is(err, io.EOF):
			return "", err
		case t.keys.ended.Load() || t.leave(readline.CharDelete, "Ctrl-D again, or quit, leaves\n"):
			return "", io.EOF
		}
	}
}

// leave tells whether a key has come twice, and says that once is not enough.
func (t *terminalReader) leave(key rune, hint string) bool {
	if t.asked == key {
		return true
	}
	t.asked = key
	io.WriteString(t.note, hint)
	return false
}

func (t *terminalReader) continued(yes bool) {
	if yes {
		t.edit.SetPrompt(continuePrompt)
	} else {
		t.edit.SetPrompt(prompt)
	}
}

func (t *terminalReader) Interactive() bool { return true }

// Close must not be called while Next runs, as from a signal handler: it would
// wait for ever.
func (t *terminalReader) Close() error {
	return errors.Join(t.stdin.Close(), t.edit.Close())
}

// width is the terminal's. The editor loops for ever on one without columns.
func width() int {
	if wide, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && wide > 0 {
		return max(wide, 20)
	}
	return 80
}

// harmless replaces the keys that break the editor or the session by one that
// does nothing: forward search (Ctrl-S), which panics when it is left,
// transposition (Ctrl-T), which leaves the cursor beyond a line of one letter,
// suspension (Ctrl-Z), which stops the parent process too, and unknown Meta
// keys. Dropping them instead would make the editor read ahead of the next
// command.
func harmless(r rune) rune {
	switch {
	case r == readline.CharFwdSearch, r == readline.CharTranspose, r == readline.CharCtrlZ, r < readline.MetaBackspace:
		return readline.CharBell
	}
	return r
}

// completer is readline's AutoCompleter with at most one candidate: lists of
// several are shown by us, as the editor's own menu divides by zero on a narrow
// terminal.
type completer func(text string) string

func (c completer) Do(line []rune, pos int) ([][]rune, int) {
	insert := c(string(line[:pos]))
	if insert == "" {
		return nil, 0
	}
	return [][]rune{[]rune(insert)}, 0
}

// keys are the bytes of the keyboard without those that the editor takes for the
// end of its input: NUL (Ctrl-Space), after which it never answers again, and
// the Delete key on an empty line, which it cannot tell from Ctrl-D.
type keys struct {
	in    io.Reader
	empty atomic.Bool // the line as edited has no text
	ended atomic.Bool // the terminal is gone
}

func (k *keys) Read(b []byte) (int, error) {
	for {
		n, err := k.in.Read(b)
		kept := bytes.ReplaceAll(b[:n], []byte{0}, nil)
		for del := []byte("\x1b[3~"); k.empty.Load() && bytes.HasPrefix(kept, del); {
			kept = kept[len(del):]
		}
		if err != nil {
			k.ended.Store(true)
		}
		if n = copy(b, kept); n > 0 || err != nil {
			return n, err
		}
	}
}
