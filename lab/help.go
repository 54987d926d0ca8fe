package lab

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kalmarz/kalmarz/layers/option"
)

// unknownCommand is the error of a word that is no command.
type unknownCommand struct{ name string }

func (e *unknownCommand) Error() string {
	names := commandNames()
	name := e.name
	if len(name) > 40 {
		name = name[:40] + "..."
	}
	return fmt.Sprintf("unknown command %q%s: known are %s", name, nearest(name, names), strings.Join(names, ", "))
}

func findCommand(name string) (*Command, error) {
	for _, g := range Groups {
		for _, c := range g.Commands {
			if c.Name == name {
				return c, nil
			}
		}
	}
	return nil, &unknownCommand{name}
}

func commandNames() (names []string) {
	for _, g := range Groups {
		for _, c := range g.Commands {
			names = append(names, c.Name)
		}
	}
	return names
}

// help lists the commands in their groups, or the keys of one.
func help(_ context.Context, s *Session, args []string) error {
	var markdown bool
	args, err := readFlags(args, nil, map[string]*bool{"markdown": &markdown})
	switch {
	case err != nil:
		return err
	case len(args) > 1:
		return fmt.Errorf("%q: help takes one command", args[1])
	case len(args) == 1 && markdown:
		return fmt.Errorf("--markdown is of all commands")
	case markdown:
		_, err = io.WriteString(s.Out, reference())
		return err
	case len(args) == 1:
		return helpOn(s.Out, args[0])
	}
	t := &table{header: []string{"", ""}}
	for _, g := range Groups {
		t.add(g.Name, "")
		for _, c := range g.Commands {
			t.add("  "+c.Name, c.Help)
		}
	}
	_, err = io.WriteString(s.Out, usage+t.text()+"\nhelp COMMAND says what words a command takes.\n")
	return err
}

func helpOn(w io.Writer, name string) error {
	c, err := findCommand(name)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "%s\n%s\n", strings.TrimSpace(c.Name+" "+c.Args), c.Help); err != nil {
		return err
	}
	if c.declared().flags["--preset"] == "PRESET" {
		text, err := presetList()
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, "\n"+text)
		return err
	}
	if c.Name == "bench" {
		_, err = io.WriteString(w, "\n"+benchKeys())
		return err
	}
	if !takesKeys(c) {
		return nil
	}
	place := option.Set{
		{Name: "out", Kind: option.Word, Default: "runs", Help: "folder for results"},
		{Name: "backend", Kind: option.Word, Default: "auto", Help: "go, xla:cpu, xla:cuda; auto = what is installed"},
	}
	if slices.Contains(c.declared().keys, "jobs=N") {
		place = append(place, option.Option{Name: "jobs", Kind: option.Word, Default: map[string]string{"ablate": "1", "study": "1", "sweep": "auto"}[c.Name],
			Help: "processes that share the runs; auto = one an NVIDIA device, or one a core while memory lasts"})
	}
	_, err = io.WriteString(w, "\n"+optionTable("", append(place, options...))+"\nTask keys: tasks NAME. Mixer keys: mixers NAME.\n"+chooserTables())
	return err
}

// chooserTables shows the options of optimizers and schedules.
func chooserTables() string {
	var b strings.Builder
	for _, c := range choosers {
		for _, kind := range c.names {
			if declared := c.options(kind); len(declared) > 0 {
				fmt.Fprintf(&b, "\nKeys of %s=%s, each also as %s.KEY:\n\n%s", c.key, kind, c.key, optionTable("", declared))
			}
		}
	}
	return b.String()
}

// takesKeys tells whether a command takes the keys of an experiment.
func takesKeys(c *Command) bool {
	for _, k := range c.declared().keys {
		if k == "key=value" {
			return true
		}
	}
	return false
}

// reference is the list of commands as README.md has it, between
// referenceBegin and referenceEnd.
func reference() string {
	var b strings.Builder
	for _, g := range Groups {
		t := &table{header: []string{g.Name, ""}}
		for _, c := range g.Commands {
			cell := strings.TrimSpace(c.Name + " " + c.Args)
			t.add("`"+strings.ReplaceAll(cell, "|", `\|`)+"`", strings.ReplaceAll(c.Help, "|", `\|`))
		}
		b.WriteString(t.markdown() + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

const (
	referenceBegin = "<!-- commands -->\n"
	referenceEnd   = "<!-- /commands -->\n"
)
