// Package option describes what can be chosen about a mixer, a task or an
// experiment: one declaration from which parsing, validation, help, completion
// and ablation axes are made. It is a leaf: it knows no graphs, files or runs.
package option

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Kind is the type of an option's value.
type Kind uint8

// The kinds of value. A Float may also take one of the option's Choices, as in
// eta = learned; a Word takes nothing else, or any text if there are none.
const (
	Int Kind = iota
	Float
	Bool
	Word
)

// Option declares one choice.
type Option struct {
	Name    string
	Kind    Kind
	Default any        // int, float64, bool or string
	Range   [2]float64 // inclusive bounds of a number; {0, 0} means unbounded
	Choices []string   // the allowed words
	Live    bool       // a number that compiled graphs take as an input: models that differ in it alone share them
	Help    string     // one line
	Source  string     // paper, equation or repository; may be empty
}

// Set is the ordered declaration of one thing's options.
type Set []Option

// Values holds a value for each option of a Set: int, float64, bool or string.
type Values map[string]any

// Int, Float, Bool and Word return the value of a declared option; they panic
// on a name that is not declared with that kind, which is a programming error.
// Float returns NaN if the option holds a word.
func (v Values) Int(name string) int   { return v[name].(int) }
func (v Values) Bool(name string) bool { return v[name].(bool) }

// Float returns the number, or NaN if the option holds one of its words.
func (v Values) Float(name string) float64 {
	if f, ok := v[name].(float64); ok {
		return f
	}
	_ = v[name].(string)
	return math.NaN()
}

// Word returns the word, or "" if the option holds a number.
func (v Values) Word(name string) string {
	if s, ok := v[name].(string); ok {
		return s
	}
	_ = v[name].(float64)
	return ""
}

// Find returns the option of that name, or nil.
func (s Set) Find(name string) *Option {
	for i := range s {
		if s[i].Name == name {
			return &s[i]
		}
	}
	return nil
}

// Names lists the options' names in order.
func (s Set) Names() []string {
	names := make([]string, len(s))
	for i, o := range s {
		names[i] = o.Name
	}
	return names
}

// Defaults returns every option's default.
func (s Set) Defaults() Values {
	v := make(Values, len(s))
	for _, o := range s {
		v[o.Name] = o.Default
	}
	return v
}

// Parse completes the defaults with what is given as text. who opens every
// error, as in "mixer kaczmarz: eta = -0.1: must be in [0, 2]".
func (s Set) Parse(who string, given map[string]string) (Values, error) {
	v := s.Defaults()
	for _, name := range slices.Sorted(maps.Keys(given)) {
		o := s.Find(name)
		if o == nil {
			return nil, fmt.Errorf("%s: unknown option %q: known are %s", who, name, strings.Join(s.Names(), ", "))
		}
		x, err := o.Parse(given[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %s = %s: %w", who, name, given[name], err)
		}
		v[name] = x
	}
	return v, nil
}

// Parse reads one value and checks it.
func (o *Option) Parse(text string) (any, error) {
	bad := fmt.Errorf("must be %s", o.Allowed())
	if slices.Contains(o.Choices, text) {
		return text, nil
	}
	switch o.Kind {
	case Int:
		if n, err := strconv.Atoi(text); err == nil && o.inRange(float64(n)) {
			return n, nil
		}
	case Float:
		if f, err := strconv.ParseFloat(text, 64); err == nil && o.inRange(f) {
			return f, nil
		}
	case Bool:
		if b, err := strconv.ParseBool(text); err == nil {
			return b, nil
		}
	case Word:
		if len(o.Choices) == 0 {
			return text, nil
		}
	}
	return nil, bad
}

func (o *Option) inRange(x float64) bool {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return false
	}
	return o.Range == [2]float64{} || x >= o.Range[0] && x <= o.Range[1]
}

// Allowed says in words which values the option takes: "in [0, 2] or learned".
func (o *Option) Allowed() string {
	words := strings.Join(o.Choices, ", ")
	number := map[Kind]string{Int: "a whole number", Float: "a number"}[o.Kind]
	if number != "" && o.Range != [2]float64{} {
		lo, hi := Format(o.Range[0]), Format(o.Range[1])
		switch {
		case math.IsInf(o.Range[1], 1):
			number += " >= " + lo
		case o.Kind == Int:
			number += " in [" + lo + ", " + hi + "]"
		default:
			number = "in [" + lo + ", " + hi + "]"
		}
	}
	switch {
	case o.Kind == Bool:
		return "true or false"
	case number == "" && words == "":
		return "text"
	case number == "":
		return "one of " + words
	case words == "":
		return number
	}
	return number + " or " + words
}

// Format prints a value so that Parse reads it back.
func Format(x any) string {
	if f, ok := x.(float64); ok {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return fmt.Sprint(x)
}
