package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/kalmarz/kalmarz/lab/backend"
)

// usage is how the program is called.
const usage = `kalmarz                     a prompt on a terminal; elsewhere commands from standard input
kalmarz COMMAND [WORD...]   one command
kalmarz -c 'COMMAND; ...'   some
kalmarz -f FILE             a script; - is standard input
--keep-going                after -c, -f and a pipe: on past errors, and exit 1 in the end
`

// interruptStatus is the exit status after an interrupt, as shells have it.
const interruptStatus = 130

// Main runs the program and returns its exit status: 0, 1 after an error, 2 when
// the words make no command, 130 after an interrupt.
func Main(args []string) int {
	if err := backend.Prepare(); err != nil {
		fmt.Fprintln(os.Stderr, "kalmarz:", err)
		return 1
	}
	s := NewSession(os.Stdout, os.Stderr)
	m, err := readInvocation(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "kalmarz:", err)
		return 2
	}
	s.keepGoing = m.keepGoing
	restore := func() {}
	s.interrupts = &interrupts{
		note: func(line string) { s.note(newLine(s.Err) + line) },
		leave: func(status int) {
			if status == interruptStatus {
				s.children.kill() // otherwise they see that this process is gone, and stop in order
			}
			restore()
			os.Exit(status)
		},
	}
	r, name, err := m.open(s)
	if err != nil {
		fmt.Fprintln(os.Stderr, "kalmarz:", err)
		return 1
	}
	if r != nil && r.Interactive() {
		restore = keepModes(os.Stdin)
		s.interrupts.prompt = true
	}
	s.interrupts.listen()
	if r == nil {
		err = s.perform(context.Background(), m.words)
	} else {
		err = s.runLines(context.Background(), r, name)
		if closed := r.Close(); err == nil {
			err = closed
		}
	}
	return status(err, r == nil)
}

// status says what ended the program and turns it into an exit status.
func status(err error, oneCommand bool) int {
	var unknown *unknownCommand
	switch {
	case err == nil, errors.Is(err, errQuit):
		return 0
	case errors.Is(err, errFailed) && (oneCommand || err == errFailed):
		return 1 // what failed has been said
	case oneCommand && errors.As(err, &unknown):
		fmt.Fprintln(os.Stderr, "kalmarz:", err)
		return 2
	case oneCommand:
		fmt.Fprintln(os.Stderr, "kalmarz", err)
	case err != errLeave:
		fmt.Fprintln(os.Stderr, err)
	}
	if errors.Is(err, errLeave) {
		return interruptStatus
	}
	return 1
}

// invocation is what the program's own words ask for.
type invocation struct {
	script, lines string
	words         []string
	keepGoing     bool
}

func readInvocation(args []string) (m invocation, err error) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		flag := args[0]
		args = args[1:]
		switch flag {
		case "-h", "-help", "--help":
			m.words = []string{"help"}
			return m, nil
		case "--keep-going":
			m.keepGoing = true
		case "-f", "-c":
			if len(args) == 0 {
				return m, fmt.Errorf("%s needs a value", flag)
			}
			if m.script+m.lines != "" {
				return m, errors.New("-f and -c: give one of them, once")
			}
			if args[0] == "" {
				return m, fmt.Errorf("%s is given an empty value", flag)
			}
			if flag == "-f" {
				m.script = args[0]
			} else {
				m.lines = args[0]
			}
			args = args[1:]
		default:
			return m, fmt.Errorf("unknown flag %s%s\n%s", flag, nearest(flag, []string{"-f", "-c", "--keep-going", "--help"}), strings.TrimSuffix(usage, "\n"))
		}
	}
	if len(args) > 0 && m.script+m.lines != "" {
		return m, fmt.Errorf("%q: no command goes with -f and -c", args[0])
	}
	m.words = args
	return m, nil
}

// open returns the lines to run and the name that errors give them, or nil for a
// command of the shell.
func (m invocation) open(s *Session) (lineReader, string, error) {
	switch {
	case len(m.words) > 0:
		return nil, "", nil
	case m.lines != "":
		return newPlainReader(strings.NewReader(m.lines)), "-c", nil
	case m.script != "" && m.script != "-":
		f, err := os.Open(m.script)
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", m.script, cause(err))
		}
		return newPlainReader(f), m.script, nil
	case m.script == "-" || !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stdout.Fd())):
		return newPlainReader(os.Stdin), "stdin", nil
	}
	fmt.Fprintln(s.Out, "Kalmarz: help lists the commands, Tab completes, Ctrl-D leaves")
	if os.Getenv("TERM") == "dumb" {
		p := newPlainReader(os.Stdin)
		p.prompt, p.interactive = s.Out, true
		return p, "stdin", nil
	}
	r, err := newTerminalReader(historyFile(s.note), s.completeLine)
	return r, "stdin", err
}

// keepModes returns a function that gives a terminal the modes it has now.
func keepModes(f *os.File) func() {
	state, err := term.GetState(int(f.Fd()))
	if err != nil {
		return func() {}
	}
	return func() {
		term.Restore(int(f.Fd()), state)
		io.WriteString(f, "\n")
	}
}

func newLine(w io.Writer) string {
	if terminal(w) {
		return "\n"
	}
	return ""
}
