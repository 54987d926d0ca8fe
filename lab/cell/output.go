package cell

import (
	"fmt"
	"html"
	"os"
	"strconv"
	"strings"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/kalmarz/kalmarz/lab"
)

// display is a notebook's output area.
type display interface {
	show(html, text string)
	update(id, html string) // replaces what is shown under the id
	svg(document string)
	sync()
}

// notebook shows things through GoNB.
type notebook struct{}

func (notebook) update(id, html string) { gonbui.UpdateHTML(id, html) }
func (notebook) svg(document string)    { gonbui.DisplaySVG(document) }
func (notebook) sync()                  { gonbui.Sync() }

func (notebook) show(html, text string) {
	gonbui.SendData(&protocol.DisplayData{Data: map[protocol.MIMEType]any{
		protocol.MIMETextHTML: html, protocol.MIMETextPlain: text,
	}})
}

// output is the cell's side of a display: a writer for a session's text, in
// which tables and figures are recognised.
type output struct {
	d      display // nil: plain text
	live   *live
	s      *lab.Session
	part   string // of a line that has not ended
	text   strings.Builder
	tables []grid
}

func newOutput() *output {
	o := &output{}
	if gonbui.IsNotebook && !lab.IsWorker() {
		o.d = notebook{}
		o.live = &live{d: o.d}
	}
	return o
}

func (o *output) session() *lab.Session {
	if o.s == nil {
		o.s = newSession(o)
	}
	return o.s
}

// mark opens a line that stands for a table, by its number.
const mark = "\x02"

// keep is lab.Tables: it keeps the table and returns a line that stands for it.
func (o *output) keep(header []string, rows [][]string, numeric []bool) string {
	o.tables = append(o.tables, grid{header, rows, numeric})
	return mark + strconv.Itoa(len(o.tables)-1) + "\n"
}

func (o *output) kept(line string) (grid, bool) {
	number, ok := strings.CutPrefix(line, mark)
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n >= len(o.tables) {
		return grid{}, false
	}
	return o.tables[n], true
}

// Write takes a session's text. Lines are shown as they end, several at once.
func (o *output) Write(p []byte) (int, error) {
	lines := strings.Split(o.part+string(p), "\n")
	o.part = lines[len(lines)-1]
	for _, line := range lines[:len(lines)-1] {
		if t, ok := o.kept(line); ok {
			o.table(t)
			continue
		}
		if path, ok := lab.FigureIn(line); ok {
			if err := o.figure(path, line); err != nil {
				return 0, err
			}
			continue
		}
		o.text.WriteString(line + "\n")
	}
	return len(p), nil
}

// showText shows the text before the next thing that is not text; training has
// ended by then.
func (o *output) showText() {
	o.live.end()
	text := o.text.String()
	o.text.Reset()
	if strings.TrimSpace(text) != "" {
		o.d.show(`<pre style="white-space:pre-wrap;word-break:normal">`+html.EscapeString(strings.Trim(text, "\n"))+"</pre>", text)
	}
}

func (o *output) table(t grid) {
	if o.d == nil {
		fmt.Print(t.text())
		return
	}
	o.showText()
	o.d.show(t.html(), t.text())
}

// figure shows an SVG file under its caption.
func (o *output) figure(path, caption string) error {
	if o.d == nil {
		fmt.Println(caption)
		return nil
	}
	svg, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	o.text.WriteString(caption + "\n")
	o.showText()
	o.d.svg(string(svg))
	return nil
}

// flush shows all that is left and waits until the notebook has it.
func (o *output) flush() {
	if o.d == nil {
		return
	}
	if o.part != "" {
		o.text.WriteString(o.part + "\n")
		o.part = ""
	}
	o.showText()
	o.d.sync()
}

// plain puts the text of tables where lines stand for them.
func (o *output) plain(message string) string {
	lines := strings.Split(message, "\n")
	for i, line := range lines {
		if t, ok := o.kept(line); ok {
			lines[i] = strings.TrimSuffix(t.text(), "\n")
		}
	}
	return strings.Join(lines, "\n")
}
