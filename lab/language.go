package lab

import (
	"strings"

	"github.com/kalmarz/kalmarz/layers/option"
)

// The language is the shell's, as far as words go: blanks part words, ' and "
// quote, \ takes the next character as it is, # begins a comment, ; parts
// commands, and \ at the end of a line joins the next one to it.

// word is a word of a line with the bytes of the line that spell it.
type word struct {
	text       string
	start, end int
}

// splitLine cuts a line into commands; the last may be empty, as may any
// between two semicolons. more tells that the line ends in a \ and so goes on.
func splitLine(line string) (commands [][]word, more bool, err error) {
	var (
		words []word
		text  strings.Builder
		start = -1 // of the word being read; -1 between words
		quote byte // the open quote, or 0
		begun int  // where it was opened
	)
	endWord := func(at int) {
		if start >= 0 {
			words = append(words, word{text.String(), start, at})
		}
		start = -1
		text.Reset()
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		if quote == 0 {
			switch {
			case strings.IndexByte(" \t\r\n\v\f", c) >= 0:
				endWord(i)
				continue
			case c == ';':
				endWord(i)
				commands, words = append(commands, words), nil
				continue
			case c == '#' && start < 0:
				return append(commands, words), false, nil
			}
			if start < 0 {
				start = i
			}
		}
		switch {
		case c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, begun = c, i
		case c == '\\' && quote != '\'':
			if i+1 == len(line) {
				if start == i {
					start = -1 // the \ alone is no word
				}
				endWord(i)
				return append(commands, words), true, nil
			}
			if next := line[i+1]; quote == 0 || next == '"' || next == '\\' {
				i++
				c = next
			}
			text.WriteByte(c)
		default:
			text.WriteByte(c)
		}
	}
	if quote != 0 {
		return nil, false, &openQuote{quote, begun}
	}
	endWord(len(line))
	return append(commands, words), false, nil
}

// openQuote is the error of a quote that nothing closes.
type openQuote struct {
	quote byte
	at    int
}

func (e *openQuote) Error() string {
	return "the quote " + string(e.quote) + " in column " + option.Format(e.at+1) + " is not closed"
}

// texts are the words without their places.
func texts(words []word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.text
	}
	return out
}

// escape spells a word so that splitLine reads it back. It knows no newlines,
// as no line holds one.
func escape(text string) string {
	if text == "" {
		return "''"
	}
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if strings.IndexByte(" \t\r\v\f'\"\\;", c) >= 0 || c == '#' && i == 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}
