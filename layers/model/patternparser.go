package model

import (
	"fmt"
	"strconv"
	"strings"
)

// patternParser reads a pattern from left to right.
type patternParser struct {
	text       string
	start, end int // the current token
	p          *Pattern
}

// next moves to the next token and returns it: a name, an arrow, another single
// character, or "" at the end.
func (r *patternParser) next() string {
	i := r.end
	for i < len(r.text) && (r.text[i] == ' ' || r.text[i] == '\t') {
		i++
	}
	r.start = i
	switch {
	case i == len(r.text):
	case strings.HasPrefix(r.text[i:], "->"):
		i += 2
	case !nameByte(r.text[i]):
		i++
		for i < len(r.text) && r.text[i]&0xC0 == 0x80 { // the rest of a character
			i++
		}
	default:
		for i < len(r.text) && (nameByte(r.text[i]) || r.text[i] == '-' && i+1 < len(r.text) && nameByte(r.text[i+1])) {
			i++
		}
	}
	r.end = i
	return r.text[r.start:i]
}

// peek is what next would return.
func (r *patternParser) peek() string {
	start, end := r.start, r.end
	t := r.next()
	r.start, r.end = start, end
	return t
}

func nameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}

func (r *patternParser) read() error {
	for {
		if err := r.part(); err != nil {
			return err
		}
		if len(r.p.Cycle) > mostLayers {
			return fmt.Errorf("more than %d layers before the pattern repeats", mostLayers)
		}
		if r.peek() != "," {
			break
		}
		r.next()
	}
	if r.peek() == ":" {
		if r.next(); r.peek() == "" {
			r.next()
			return r.expected("every, first or last")
		}
	}
	for r.peek() != "" {
		c, err := r.change()
		if err != nil {
			return err
		}
		r.p.changes = append(r.p.changes, c)
	}
	return nil
}

// part reads [Nx]NAME. The name of a published stack, alone, stands for all of it.
func (r *patternParser) part() error {
	name, n := r.next(), 1
	if before, after, ok := strings.Cut(name, "x"); ok && after != "" && digits(before) {
		var err error
		if n, err = strconv.Atoi(before); err != nil || n < 1 || n > mostLayers {
			return fmt.Errorf("%s repeats: must be in [1, %d]", before, mostLayers)
		}
		name = after
	}
	if h := FindHybrid(name); h != nil && len(r.p.Cycle) == 0 && n == 1 && r.peek() != "," {
		whole, err := ParsePattern(h.Pattern)
		if err != nil {
			return err
		}
		r.p.Cycle, r.p.changes, r.p.Hybrid = whole.Cycle, whole.changes, h
		return nil
	}
	if err := r.name(name); err != nil {
		return err
	}
	for range n {
		r.p.Cycle = append(r.p.Cycle, name)
	}
	return nil
}

// name checks a name and notes where it stands.
func (r *patternParser) name(name string) error {
	if name == "" || !nameByte(name[0]) || '0' <= name[0] && name[0] <= '9' {
		return r.expected("a mixer's name")
	}
	if r.p.columns[name] == 0 {
		r.p.columns[name] = r.start + 1
	}
	return nil
}

func (r *patternParser) change() (c change, err error) {
	switch c.which = r.next(); c.which {
	case "every":
		word := r.next()
		number := strings.TrimRight(word, "stndrh")
		if c.nth, err = strconv.Atoi(number); err != nil || c.nth < 1 || word != number && word != ordinal(c.nth) {
			return c, r.expected("which, as 3rd")
		}
		c.new = r.next()
		return c, r.name(c.new)
	case "first", "last":
		c.old = r.next()
		if err := r.name(c.old); err != nil {
			return c, err
		}
		if r.next() != "->" {
			return c, r.expected("-> and the mixer that takes its place")
		}
		c.new = r.next()
		return c, r.name(c.new)
	}
	return c, r.expected("every, first or last")
}

// expected is the error of the current token.
func (r *patternParser) expected(what string) error {
	if got := r.text[r.start:r.end]; got != "" {
		return fmt.Errorf("%q: expected %s", got, what)
	}
	return fmt.Errorf("expected %s", what)
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
