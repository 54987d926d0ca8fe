package lab

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// declared is what Command.Args says: the kinds of the command's words in
// turn, of which the last may repeat, and its flags with the kind of their
// values, "" for a switch.
type declared struct {
	words    []string
	required bool     // the first of the words, which comes before keys
	repeated int      // the first word that may come again; len(words) if none
	keys     []string // kinds with a "=": they may stand anywhere
	flags    map[string]string
}

func (c *Command) declared() declared {
	d := declared{flags: map[string]string{}, repeated: -1}
	fields := strings.Fields(c.Args)
	for i := 0; i < len(fields); i++ {
		f := kindName(fields[i])
		switch {
		case f == "":
		case strings.HasPrefix(f, "--"):
			d.flags[f] = ""
			if !strings.HasSuffix(fields[i], "]") && i+1 < len(fields) && fields[i+1] != "|" && !strings.HasPrefix(fields[i+1], "[") && !strings.HasPrefix(fields[i+1], "-") {
				i++
				d.flags[f] = kindName(fields[i])
			}
		case strings.Contains(f, "="):
			d.keys = append(d.keys, f)
		default:
			d.required = d.required || len(d.words) == 0 && !strings.HasPrefix(fields[i], "[")
			if strings.Contains(fields[i], "...") && d.repeated < 0 {
				d.repeated = len(d.words)
			}
			d.words = append(d.words, f)
		}
	}
	return d
}

func kindName(field string) string {
	f := strings.Trim(field, "[]|")
	f = strings.TrimSuffix(strings.TrimSuffix(f, "..."), ",")
	if name, _, ok := strings.Cut(f, "."); ok && kinds[name] != nil {
		return name // FILE.npz
	}
	return f
}

// complete lists the words that may stand at the cursor.
func complete(words []string, partial string) []string {
	if len(words) == 0 {
		return commandNames()
	}
	c, err := findCommand(words[0])
	if err != nil {
		return nil
	}
	d, words := c.declared(), words[1:]
	var plain []string // the words that are no flags and no keys
	for i := 0; i < len(words); i++ {
		kind, flag := d.flags[words[i]]
		switch {
		case flag && kind != "" && i == len(words)-1:
			return ofKind(kind, plain, partial)
		case flag && kind != "":
			i++
		case !flag && !strings.Contains(words[i], "="):
			plain = append(plain, words[i])
		}
	}
	if strings.HasPrefix(partial, "--") {
		var out []string
		for flag := range d.flags {
			if !slices.Contains(words, flag) {
				out = append(out, flag)
			}
		}
		return out
	}
	var out []string
	for i, kind := range d.words {
		if strings.Contains(partial, "=") {
			break
		}
		if i == len(plain) || i > len(plain) && !d.required || d.repeated >= 0 && i >= d.repeated && i <= max(len(plain), d.repeated) {
			out = append(out, ofKind(kind, plain, partial)...)
		}
	}
	if !d.required || len(plain) > 0 || strings.Contains(partial, "=") {
		for _, kind := range d.keys {
			out = append(out, ofKind(kind, words, partial)...)
		}
	}
	return out
}

// ofKind completes a word of one kind, or of any of some with | between them;
// what is no kind is a word that stands for itself.
func ofKind(kind string, words []string, partial string) (out []string) {
	for _, k := range strings.Split(kind, "|") {
		switch c, known := kinds[kindName(k)]; {
		case c != nil:
			out = append(out, c(words, partial)...)
		case !known:
			out = append(out, k)
		}
	}
	return out
}

// completeLine returns what to insert after text, the line up to the cursor:
// what all candidates share. If that is nothing it shows them.
func (s *Session) completeLine(text string, wide int, show func(string)) string {
	commands, _, err := splitLine(text)
	if err != nil {
		return ""
	}
	last := commands[len(commands)-1]
	raw := ""
	if n := len(last); n > 0 && last[n-1].end == len(text) {
		raw = text[last[n-1].start:]
		last = append(last[:n-1:n-1], last[n-1])[:n-1]
	}
	partial := ""
	if parts, _, err := splitLine(raw); err == nil && len(parts[0]) == 1 {
		partial = parts[0][0].text
	}
	words := texts(last)
	if len(words) > 0 && slices.Contains([]string{"train", "ablate", "study"}, words[0]) {
		words = append(words[:1:1], append(pairs(s.defaults), words[1:]...)...)
	}
	var fit, shown []string
	for _, c := range complete(words, partial) {
		if e := escape(c); strings.HasPrefix(e, raw) && c != "" {
			fit, shown = append(fit, e), append(shown, c)
		}
	}
	slices.Sort(fit)
	fit = slices.Compact(fit)
	if len(fit) == 0 {
		return ""
	}
	common := fit[0]
	for _, f := range fit[1:] {
		for !strings.HasPrefix(f, common) {
			_, size := utf8.DecodeLastRuneInString(common)
			common = common[:len(common)-size]
		}
	}
	insert := common[len(raw):]
	if len(fit) == 1 && !strings.HasSuffix(common, "=") && !strings.HasSuffix(common, "/") {
		insert += " "
	}
	if insert == "" && len(fit) > 1 {
		slices.Sort(shown)
		show(inColumns(slices.Compact(shown), wide))
	}
	return insert
}

// inColumns sets words in columns of equal width, down and then across.
func inColumns(words []string, wide int) string {
	const most = 200
	more := len(words) - most
	if more > 0 {
		words = words[:most]
	}
	cell := 0
	for _, w := range words {
		cell = max(cell, utf8.RuneCountInString(w)+2)
	}
	columns := max(1, min(len(words), (wide-1)/cell))
	rows := (len(words) + columns - 1) / columns
	var b strings.Builder
	for r := range rows {
		var line strings.Builder
		for i := r; i < len(words); i += rows {
			fmt.Fprintf(&line, "%-*s", cell, words[i])
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	if more > 0 {
		fmt.Fprintf(&b, "... and %d more\n", more)
	}
	return b.String()
}
