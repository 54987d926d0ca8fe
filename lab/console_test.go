package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"
)

// asProgram makes the test binary the program.
const asProgram = "KALMARZ_TEST_AS_PROGRAM"

// TestMain lets the test binary be the program.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(programWithTestCommands())
	}
	os.Exit(m.Run())
}

// programWithTestCommands is Main with commands that misbehave.
func programWithTestCommands() int {
	wait := func(ctx context.Context, s *Session, _ []string) error {
		s.note("waiting")
		<-ctx.Done()
		return errors.New("stopped after step 7")
	}
	Groups = append(Groups, Group{"test", []*Command{
		{"panics", "", "", func(context.Context, *Session, []string) error { panic("a deliberate one") }},
		{"waits", "", "", wait},
		{"lingers", "", "", func(ctx context.Context, s *Session, args []string) error {
			wait(ctx, s, args)
			s.note("lingering")
			time.Sleep(time.Minute)
			return nil
		}},
	}})
	return Main(os.Args[1:])
}

func testProgram(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe, args...)
	c.Dir = t.TempDir()
	c.Env = append(os.Environ(), asProgram+"=1", "TERM=xterm", "XDG_CONFIG_HOME="+filepath.Join(c.Dir, "config"))
	return c
}

// screen is a program on a pseudo-terminal and what it has written there.
type screen struct {
	t    *testing.T
	cmd  *exec.Cmd
	pty  *os.File
	mu   sync.Mutex
	text bytes.Buffer
	seen int // what expect has looked at
	done chan error
}

func onTerminal(t *testing.T, args ...string) *screen {
	s := &screen{t: t, cmd: testProgram(t, args...), done: make(chan error, 1)}
	return s.start()
}

func (s *screen) start() *screen {
	var err error
	if s.pty, err = pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { s.cmd.Process.Kill(); s.pty.Close() })
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := s.pty.Read(b)
			s.mu.Lock()
			s.text.Write(b[:n])
			s.mu.Unlock()
			if err != nil {
				s.done <- s.cmd.Wait()
				return
			}
		}
	}()
	return s
}

// send types keys.
func (s *screen) send(keys string) *screen {
	s.t.Helper()
	if _, err := s.pty.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
	return s
}

// expect waits for text beyond what was expected before.
func (s *screen) expect(text string) *screen {
	s.t.Helper()
	for limit := time.Now().Add(5 * time.Second); time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		at := strings.Index(s.text.String()[s.seen:], text)
		if at >= 0 {
			s.seen += at + len(text)
		}
		s.mu.Unlock()
		if at >= 0 {
			return s
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.t.Fatalf("no %q in what follows %q:\n%q", text, s.text.String()[:s.seen], s.text.String()[s.seen:])
	return s
}

// exits waits for the end.
func (s *screen) exits(status int) {
	s.t.Helper()
	select {
	case <-s.done:
		if got := s.cmd.ProcessState.ExitCode(); got != status {
			s.t.Errorf("status %d, want %d", got, status)
		}
	case <-time.After(5 * time.Second):
		s.t.Fatalf("the program goes on:\n%q", s.text.String())
	}
}

const (
	ctrlC, ctrlD, ctrlR, ctrlS, ctrlT, ctrlSpace = "\x03", "\x04", "\x12", "\x13", "\x14", "\x00"
	deleteKey, enter, tab                        = "\x1b[3~", "\r", "\t"
)

func TestTypingAndCompletion(t *testing.T) {
	s := onTerminal(t).expect(prompt)
	s.send("task" + tab).send("s nia" + tab).expect("tasks niah ").send(ctrlC).expect(prompt)
	s.send("mixers kac" + tab + enter).expect("mixers kaczmarz").expect("arXiv").expect(prompt)
	s.send("abl" + tab + "et" + tab + "lea" + tab + "len" + tab).expect("ablate eta learned len").send(ctrlC).expect(prompt)
	s.send("train n" + tab).expect("train norm").send(tab).expect("norm_eps=").send(ctrlC).expect(prompt)
	s.send("mixxers" + enter).expect("did you mean mixers?").expect(prompt)
	s.send("\x1b[A").expect("mixxers") // history
	s.send(ctrlC).expect(prompt).send("quit" + enter).exits(0)
	history := filepath.Join(s.cmd.Dir, "config", "kalmarz", "history")
	st, err := os.Stat(history)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("history: %v, %v", st.Mode(), err)
	}
	if b, err := os.ReadFile(history); err != nil || !strings.Contains(string(b), "mixers kaczmarz") {
		t.Errorf("history: %v\n%s", err, b)
	}
}

// TestKeysThatBreakTheEditor: each of them used to end the session, with a panic
// or without a word, or to hang it.
func TestKeysThatBreakTheEditor(t *testing.T) {
	for name, keys := range map[string]string{
		"Delete":                       strings.Repeat(deleteKey, 3),
		"Ctrl-S":                       ctrlS,
		"Ctrl-S Ctrl-C":                ctrlS + ctrlC,
		"Ctrl-R Ctrl-C":                ctrlR + ctrlC,
		"Ctrl-Space":                   ctrlSpace,
		"a Ctrl-T b":                   "a" + ctrlT + "b" + ctrlC,
		"Ctrl-Z":                       "\x1a",
		"Ctrl-D once":                  ctrlD,
		"unknown escapes":              "\x1b[99~\x1b\x14\x1b[1;5Q",
		"Tab on an open quote":         "'" + tab + ctrlC,
		"cursor keys":                  "\x1b[D\x1b[A\x1b[B\x1b[C\x1b[H\x1b[F",
		"Ctrl-C once on no text":       ctrlC,
		"Ctrl-D, a command, Ctrl-D":    ctrlD + "set" + enter + ctrlD,
		"Ctrl-D then Ctrl-C":           ctrlD + ctrlC,
		"Ctrl-C on text, then on none": "abc" + ctrlC + ctrlC,
	} {
		for _, history := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " history=", history), func(t *testing.T) {
				t.Parallel()
				s := &screen{t: t, cmd: testProgram(t), done: make(chan error, 1)}
				if !history {
					s.cmd.Env = append(s.cmd.Env, "XDG_CONFIG_HOME=/dev/null")
				}
				s.start().expect(prompt).send(keys)
				time.Sleep(50 * time.Millisecond)
				s.send("mixers kaczmarz" + enter).expect("arXiv").expect(prompt)
				s.send("exit" + enter).exits(0)
			})
		}
	}
}

func TestLeaving(t *testing.T) {
	s := onTerminal(t).expect(prompt)
	s.send(ctrlD).expect("Ctrl-D again").expect(prompt).send(ctrlD).exits(0)
	s = onTerminal(t).expect(prompt)
	s.send(ctrlC).expect("Ctrl-C again").expect(prompt).send(ctrlC).exits(130)
}

// cooked fails unless the terminal has the modes that a shell expects.
func (s *screen) cooked() {
	s.t.Helper()
	before, err := term.GetState(int(s.pty.Fd()))
	if err != nil {
		s.t.Fatal(err)
	}
	if fresh, tty, err := pty.Open(); err != nil {
		s.t.Fatal(err)
	} else {
		defer fresh.Close()
		defer tty.Close()
		if want, err := term.GetState(int(fresh.Fd())); err != nil || *want != *before {
			s.t.Errorf("the terminal is left with other modes (%v)", err)
		}
	}
}

func TestInterruptOfACommand(t *testing.T) {
	s := onTerminal(t).expect(prompt)
	s.send("waits" + enter).expect("waiting").send(ctrlC).expect("stopping").expect("waits: stopped after step 7").expect(prompt)
	s.send("lingers" + enter).expect("waiting").send(ctrlC).expect("lingering").send(ctrlC).exits(130)
}

// TestInterruptOfTraining: the run keeps what it recorded, and the session goes
// on.
func TestInterruptOfTraining(t *testing.T) {
	s := onTerminal(t).expect(prompt)
	s.send("set backend=go " + strings.Replace(tiny, "steps=6", "steps=1000000", 1) + enter).expect(prompt)
	s.send("train" + enter).expect("loss").send(ctrlC).expect("stopped after step").expect(prompt)
	s.send("set steps=2 seeds=1; train" + enter).expect("1x ").expect(prompt).send("quit" + enter).exits(0)
	s.cooked()
	folders, err := filepath.Glob(filepath.Join(s.cmd.Dir, "runs", "*", "metrics.jsonl"))
	if err != nil || len(folders) != 2 {
		t.Errorf("metrics of %v, %v", folders, err)
	}
}

func TestPanicInACommand(t *testing.T) {
	s := onTerminal(t).expect(prompt)
	s.send("panics" + enter).expect("panics: a deliberate one").expect(prompt)
	s.send("mixers kac" + tab + enter).expect("arXiv").expect(prompt)
	s.send("quit" + enter).exits(0)
	s.cooked()
}

func TestSignalsAtThePrompt(t *testing.T) {
	s := onTerminal(t).expect(prompt)
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	s.send("mixers kaczmarz" + enter).expect("arXiv").expect(prompt)
	if err := s.cmd.Process.Signal(os.Kill); err != nil {
		t.Fatal(err)
	}
	s.exits(-1)
	s = onTerminal(t).expect(prompt)
	if err := exec.Command("kill", "-TERM", fmt.Sprint(s.cmd.Process.Pid)).Run(); err != nil {
		t.Fatal(err)
	}
	s.exits(128 + 15)
	s.cooked()
}

// TestResize: to nothing, to less than the longest word, and back.
func TestResize(t *testing.T) {
	s := onTerminal(t).expect(prompt)
	for _, cols := range []uint16{0, 1, 5, 200} {
		if err := pty.Setsize(s.pty, &pty.Winsize{Rows: 10, Cols: cols}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
		s.send("train " + tab + "\x1b[D\x1b[D\x1b[H\x1b[F" + ctrlR + "mix" + ctrlC + ctrlC)
		time.Sleep(20 * time.Millisecond)
		s.send("mixers kaczmarz" + enter).expect("arXiv").expect(prompt)
	}
	s.send("quit" + enter).exits(0)
}

// TestDumbTerminal: a prompt, and no escapes.
func TestDumbTerminal(t *testing.T) {
	s := &screen{t: t, cmd: testProgram(t), done: make(chan error, 1)}
	s.cmd.Env = append(s.cmd.Env, "TERM=dumb")
	s.start().expect(prompt).send("mixxers\n").expect("did you mean").expect(prompt).send("mixers kaczmarz\n").expect("arXiv").expect(prompt)
	s.send(ctrlD).exits(0)
	if strings.Contains(s.text.String(), "\x1b") {
		t.Errorf("escapes: %q", s.text.String())
	}
}

// piped runs the program away from a terminal.
func piped(t *testing.T, input string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	c := testProgram(t, args...)
	return pipedIn(c, input)
}

func pipedIn(c *exec.Cmd, input string) (stdout, stderr string, status int) {
	var out, errs bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(input), &out, &errs
	c.Run()
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}

func TestPipe(t *testing.T) {
	direct, _, _ := piped(t, "", "mixers")
	out, errs, status := piped(t, "mixers\n")
	if out != direct || errs != "" || status != 0 || strings.ContainsAny(out, "\x1b\r") || !strings.HasPrefix(out, "mixer") {
		t.Errorf("status %d\n%q\n%q", status, out, errs)
	}
	if out, errs, status := piped(t, ""); out+errs != "" || status != 0 {
		t.Errorf("no input: status %d, %q %q", status, out, errs)
	}
	if out, _, status := piped(t, "\ufeffmix\\\r\ners\r\n  # nothing\r\n"); out != direct || status != 0 {
		t.Errorf("status %d, %q", status, out)
	}
}

func TestLongLine(t *testing.T) {
	start := time.Now()
	_, errs, status := piped(t, "mixers\n"+strings.Repeat("x", 50_000)+"\n")
	if took := time.Since(start); took > time.Second {
		t.Errorf("a line of 50,000 characters took %v", took)
	}
	if status != 1 || !strings.HasPrefix(errs, "stdin:2: unknown command") || len(errs) > 1000 {
		t.Errorf("status %d, %s", status, errs)
	}
	if out, errs, status := piped(t, "set mixer='"+strings.Repeat(" ", 50_000)+"gdn,'\n"); status != 1 || len(errs) > 1000 {
		t.Errorf("status %d, %s %s", status, out, errs)
	}
}

func TestScripts(t *testing.T) {
	for _, c := range []struct {
		name, script, args string // args beside -f FILE
		out, errs          []string
		status             int
	}{
		{name: "in order", script: "# a comment\nset steps=5 \\\n  seeds=1\n\nset # shows\nquit\nmixxers\n", out: []string{"steps      5", "seeds      1"}},
		{name: "first error", script: "set steps=5\n\nset \\\n stepps=5\nmixers\n", errs: []string{`FILE:3: set: unknown key "stepps" (did you mean steps?)`}, status: 1},
		{name: "going on", args: "--keep-going", script: "mixxers\nset seeds=4\nset 'seeds\nset\n", out: []string{"seeds      4"},
			errs: []string{"FILE:1: unknown command", "FILE:3: the quote ' in column 5 is not closed"}, status: 1},
		{name: "panic", script: "\npanics\n", errs: []string{"FILE:2: panics: a deliberate one"}, status: 1},
		{name: "source", script: "set seeds=4\nsource inner\nset\n", errs: []string{"FILE:2: source: inner:2: unknown command \"tass\" (did you mean tasks?)"}, status: 1},
		{name: "source itself", script: "source FILE\n", errs: []string{"more than 16 deep"}, status: 1},
		{name: "no such file", script: "source nothing\n", errs: []string{"FILE:1: source: nothing: no such file"}, status: 1},
		{name: "silent failure", script: "corpus\n", errs: []string{"FILE:1: corpus: 0 paths"}, status: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := testProgram(t, append(strings.Fields(c.args), "-f", "FILE")...)
			for name, text := range map[string]string{"FILE": c.script, "inner": "set seeds=2\ntass\n"} {
				if err := os.WriteFile(filepath.Join(p.Dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			out, errs, status := pipedIn(p, "")
			if status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			for _, want := range c.out {
				if !strings.Contains(out, want) {
					t.Errorf("lacks %q: %s", want, out)
				}
			}
			for _, want := range c.errs {
				if !strings.Contains(errs, want) {
					t.Errorf("lacks %q: %s", want, errs)
				}
			}
			if len(c.errs) == 0 && errs != "" {
				t.Errorf("errors: %s", errs)
			}
		})
	}
}

func TestInvocations(t *testing.T) {
	for _, c := range []struct {
		args   []string
		out    string
		errs   string
		status int
	}{
		{args: []string{"-c", "set steps=7; set"}, out: "steps      7"},
		{args: []string{"-c", "mixxers; set"}, errs: "-c:1: unknown command", status: 1},
		{args: []string{"-c", "set\nmixxers"}, errs: "-c:2: unknown command", status: 1},
		{args: []string{"mixxers"}, errs: "kalmarz: unknown command \"mixxers\" (did you mean mixers?)", status: 2},
		{args: []string{"mixers", "kaczmarz"}, out: "arXiv"},
		{args: []string{"set", "steps=x"}, errs: "kalmarz set: experiment: steps = x", status: 1},
		{args: []string{"--help"}, out: "help COMMAND"},
		{args: []string{"-x"}, errs: "unknown flag -x", status: 2},
		{args: []string{"-f"}, errs: "-f needs a value", status: 2},
		{args: []string{"-f", "nothing"}, errs: "nothing: no such file", status: 1},
		{args: []string{"-c", "set", "mixers"}, errs: "no command goes with -f and -c", status: 2},
	} {
		out, errs, status := piped(t, "", c.args...)
		if status != c.status || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) || (errs != "") != (c.errs != "") {
			t.Errorf("%q: status %d\n%s\n%s", c.args, status, out, errs)
		}
	}
}

func TestReadmeListsTheCommands(t *testing.T) {
	b, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, begins := strings.Cut(string(b), referenceBegin)
	section, _, ends := strings.Cut(rest, referenceEnd)
	if !begins || !ends {
		t.Fatalf("README.md lacks the marks %s and %s", referenceBegin, referenceEnd)
	}
	if section != reference() {
		t.Errorf("README.md is stale: put what kalmarz help --markdown prints between %s and %s", strings.TrimSpace(referenceBegin), strings.TrimSpace(referenceEnd))
	}
}

// TestEveryCommandIsDeclared: its group, its help and kinds of words that
// completion knows.
func TestEveryCommandIsDeclared(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range Groups {
		if !slices.Contains([]string{"learn", "run", "look", "set up"}, g.Name) {
			t.Errorf("group %s", g.Name)
		}
		for _, c := range g.Commands {
			if seen[c.Name] || c.Help == "" || c.Run == nil {
				t.Errorf("%s is twice there, or has no help", c.Name)
			}
			seen[c.Name] = true
			d := c.declared()
			names := append(d.words, d.keys...)
			for _, kind := range d.flags {
				if kind != "" {
					names = append(names, kind)
				}
			}
			for _, n := range names {
				for _, n := range strings.Split(n, "|") {
					if _, known := kinds[kindName(n)]; !known && n != strings.ToLower(n) {
						t.Errorf("%s: %q in %q is no kind of word", c.Name, n, c.Args)
					}
				}
			}
		}
	}
}
