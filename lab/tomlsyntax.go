package lab

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlEntry is one key of a TOML file and where it is.
type tomlEntry struct {
	path []string // with its tables: mixer, softmax, heads
	raw  string   // as it is written
	text string   // a string's content; otherwise as raw
	kind unstable.Kind
	line int
}

// parseTOML lists the keys of a TOML text in order. Errors begin with name:line.
func parseTOML(name string, text []byte) ([]tomlEntry, error) {
	var all map[string]any
	if err := toml.Unmarshal(text, &all); err != nil { // checks what single expressions do not show, as a key given twice
		line := 1
		if d := (*toml.DecodeError)(nil); errors.As(err, &d) {
			line, _ = d.Position()
		}
		return nil, fmt.Errorf("%s:%d: %s", name, line, strings.TrimPrefix(err.Error(), "toml: "))
	}
	var (
		p     unstable.Parser
		table []string
		out   []tomlEntry
	)
	p.Reset(text)
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind == unstable.Comment {
			continue
		}
		path, line := keyOf(&p, e)
		switch e.Kind {
		case unstable.ArrayTable:
			return nil, fmt.Errorf("%s:%d: [[%s]]: an experiment has no lists of tables", name, line, strings.Join(path, "."))
		case unstable.Table:
			table = path
		case unstable.KeyValue:
			v := e.Value()
			raw := string(p.Raw(v.Raw))
			text := raw
			if v.Kind == unstable.String {
				text = string(v.Data)
			}
			out = append(out, tomlEntry{append(append([]string{}, table...), path...), raw, text, v.Kind, line})
		}
	}
	if err := p.Error(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// keyOf is the key of a table's head or of a value, and its line.
func keyOf(p *unstable.Parser, e *unstable.Node) (path []string, line int) {
	for it := e.Key(); it.Next(); {
		if line == 0 {
			line = p.Shape(it.Node().Raw).Start.Line
		}
		path = append(path, string(it.Node().Data))
	}
	return path, line
}

// tomlString quotes a text as TOML does.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}
