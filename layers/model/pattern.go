package model

// Stacks of several mixers, as text:
//
//	gdn                                  all layers
//	gdn,softmax                          in turn
//	2xgdn,softmax                        two, then one, in turn
//	gdn every 3rd softmax                but each third layer is softmax
//	softmax: last softmax->kalman        but the last softmax layer becomes kalman
//
// A published stack's name (Hybrids) may stand for its pattern. Changes are made
// in order; the colon may be left out.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Pattern is a stack's mixers for any number of layers.
type Pattern struct {
	Cycle   []string // in turn
	Hybrid  *Hybrid  // the published stack that it begins with, or nil
	changes []change
	columns map[string]int // where each name stands first, from 1
	text    string
}

// change replaces some layers' mixers: every nth, or the first or last one that
// is old.
type change struct {
	which    string // every, first or last
	nth      int
	old, new string
}

const mostLayers = 1024

// ParsePattern reads a stack. Its errors name the column; names are not checked to
// be those of mixers.
func ParsePattern(text string) (*Pattern, error) {
	shown := strings.Map(func(c rune) rune { // errors have one line
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, text)
	if r := []rune(shown); len(r) > 80 {
		shown = string(r[:80]) + "..."
	}
	p := &patternParser{text: text, p: &Pattern{columns: map[string]int{}, text: shown}}
	if err := p.read(); err != nil {
		return nil, fmt.Errorf("mixer = %s: column %d: %w", shown, utf8.RuneCountInString(text[:p.start])+1, err)
	}
	return p.p, nil
}

// Names are the mixers that the pattern names, each once.
func (p *Pattern) Names() (names []string) {
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range p.Cycle {
		add(name)
	}
	for _, c := range p.changes {
		add(c.old)
		add(c.new)
	}
	return names
}

// Column is where a name stands in the text, from 1; 0 if the name came with a
// published stack.
func (p *Pattern) Column(name string) int { return p.columns[name] }

// Layers are the mixers of n layers. Each mixer that is named must have one.
func (p *Pattern) Layers(n int) ([]string, error) {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("mixer = %s: "+format, append([]any{p.text}, args...)...)
	}
	if len(p.Cycle) > n {
		return nil, bad("%d mixers for layers = %d", len(p.Cycle), n)
	}
	all := make([]string, n)
	for i := range all {
		all[i] = p.Cycle[i%len(p.Cycle)]
	}
	for _, c := range p.changes {
		switch {
		case c.which == "every" && c.nth > n:
			return nil, bad("there is no %s layer in layers = %d", ordinal(c.nth), n)
		case c.which == "every":
			for i := c.nth - 1; i < n; i += c.nth {
				all[i] = c.new
			}
		default:
			at := slices.Index(all, c.old)
			for i := n - 1; c.which == "last" && i > at; i-- {
				if all[i] == c.old {
					at = i
				}
			}
			if at < 0 {
				return nil, bad("no layer is %s that could become %s", c.old, c.new)
			}
			all[at] = c.new
		}
	}
	for _, name := range p.Names() {
		if !slices.Contains(all, name) {
			return nil, bad("layers = %d leaves none for %s", n, name)
		}
	}
	return all, nil
}

// Period is a number of layers in which the whole pattern shows.
func (p *Pattern) Period() int {
	n := len(p.Cycle)
	for _, c := range p.changes {
		n = max(n, c.nth)
	}
	return n
}

// String is the pattern in one spelling, without published names.
func (p *Pattern) String() string {
	var b strings.Builder
	for i := 0; i < len(p.Cycle); {
		n := i + 1
		for n < len(p.Cycle) && p.Cycle[n] == p.Cycle[i] {
			n++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		if n-i > 1 {
			fmt.Fprintf(&b, "%dx", n-i)
		}
		b.WriteString(p.Cycle[i])
		i = n
	}
	for i, c := range p.changes {
		if c.which == "every" {
			fmt.Fprintf(&b, " every %s %s", ordinal(c.nth), c.new)
			continue
		}
		if i == 0 {
			b.WriteByte(':')
		}
		fmt.Fprintf(&b, " %s %s->%s", c.which, c.old, c.new)
	}
	return b.String()
}

func ordinal(n int) string {
	suffix := "th"
	if n%100/10 != 1 {
		suffix = map[int]string{1: "st", 2: "nd", 3: "rd"}[n%10]
	}
	if suffix == "" {
		suffix = "th"
	}
	return strconv.Itoa(n) + suffix
}
