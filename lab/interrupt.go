package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// console is what a session keeps between its commands.
type console struct {
	defaults   []KeyValue  // what set says
	command    []string    // the running command's words
	depth      int         // of commands that run commands
	keepGoing  bool        // past errors in a script
	interrupts *interrupts // nil: signals do what they do
	children   children
}

// interrupts turns Ctrl-C into the end of a command. The first cancels its
// context, and it stops where it can; a second leaves the program.
type interrupts struct {
	mu     sync.Mutex
	cancel context.CancelFunc // of the running command; nil between commands
	count  int                // since the command began, or since it ended
	prompt bool               // between commands a user is asked
	note   func(string)
	leave  func(status int)
}

// listen begins to take interrupts. At a prompt a request to end the program is
// taken too, so that the terminal is restored first.
func (i *interrupts) listen() {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt)
	if i.prompt {
		signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP)
	}
	go func() {
		for sig := range signals {
			number, _ := sig.(syscall.Signal)
			i.take(128+int(number), sig == os.Interrupt)
		}
	}()
}

func (i *interrupts) take(status int, interrupt bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.count++
	switch {
	case !interrupt || i.count > 1 || i.cancel == nil && !i.prompt:
		i.leave(status)
	case i.cancel != nil:
		i.cancel()
		i.note("stopping at the end of this step; once more leaves at once")
	}
}

// during returns the context of a command, and what to call when it ended.
func (i *interrupts) during(ctx context.Context) (context.Context, func()) {
	if i == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	i.set(cancel)
	return ctx, func() {
		i.set(nil)
		cancel()
	}
}

func (i *interrupts) set(cancel context.CancelFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.cancel, i.count = cancel, 0
}

// perform runs one command. Its error begins with its name.
func (s *Session) perform(ctx context.Context, words []string) error {
	c, err := findCommand(words[0])
	if err != nil {
		return err
	}
	if s.depth == 0 {
		var end func()
		ctx, end = s.interrupts.during(ctx)
		defer end()
	}
	outer, backend := s.command, s.Backend
	s.command = words
	s.depth++
	defer func() { s.command, s.Backend, s.depth = outer, backend, s.depth-1 }()
	err = guarded(ctx, c, s, words[1:])
	switch {
	case errors.Is(err, errQuit):
		return err
	case ctx.Err() != nil && err != nil:
		return fmt.Errorf("%s: %w", c.Name, &interrupted{err})
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", c.Name, errLeave)
	case err != nil:
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	return nil
}

// interrupted is the error of a command that Ctrl-C ended.
type interrupted struct{ error }

func (e *interrupted) Unwrap() []error { return []error{e.error, errLeave} }

// commandLine is what a run's record says was typed.
func (s *Session) commandLine() []string {
	if len(s.command) == 0 {
		return os.Args
	}
	return append([]string{os.Args[0]}, s.command...)
}
