package notebook

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// GoNB joins a cell with what the cells before it declared: names stay, a later
// one replaces an earlier, what follows %% is the body of main, and lines that
// begin with % or ! are commands. program does the same.

// magics are GoNB's commands for a line, those that a cell may begin with last.
var magics = strings.Fields("% main args test exec wasm widgets widgets_hb env cd goflags autoget noautoget help version reset ls list rm remove " +
	"with_inputs with_password track untrack goworkfix capture %writefile %script %bash %sh %gx")

// problem is an error in a cell.
type problem struct {
	cell, line int
	text       string
}

// piece is the text of a declaration and where it came from.
type piece struct {
	text       string
	cell, line int
	column     int
}

// program is what a cell compiles to.
type program struct {
	cell    int
	imports []piece          // those that the program uses
	decls   map[string]piece // by name
	order   []string
	body    piece
}

// programs turns a notebook's Go cells into programs.
func (f *file) programs() (all []program, problems []problem) {
	imports, decls := map[string]piece{}, map[string]piece{}
	var order []string
	for _, c := range f.Cells {
		if !c.code() {
			continue
		}
		lines := strings.Split(string(c.Source), "\n")
		if first := strings.Fields(command(lines[0])); len(first) > 0 && len(first[0]) > 2 && strings.HasPrefix(first[0], "%%") {
			if name := first[0][1:]; !slices.Contains(magics, name) {
				problems = append(problems, problem{c.number, 1, unknown(first[0])})
			}
			continue // the cell goes to another program
		}
		reset := slices.ContainsFunc(lines, func(l string) bool { return strings.TrimSpace(command(l)) == "%reset" })
		main, bad := clear(lines, c.number)
		problems = append(problems, bad...)
		if reset {
			imports, decls, order = map[string]piece{}, map[string]piece{}, nil
		}
		p := program{cell: c.number}
		if main < len(lines) {
			p.body = piece{strings.Join(lines[main:], "\n"), c.number, main + 1, 1}
		}
		parsed, bad := parse(strings.Join(lines[:main], "\n"), c.number)
		problems = append(problems, bad...)
		for _, d := range parsed {
			if d.imported {
				imports[d.name] = d.piece
				continue
			}
			order = slices.DeleteFunc(order, func(old string) bool { return overlap(old, d.name) })
			if d.name == "main" { // not kept
				p.decls = map[string]piece{"main": d.piece}
				continue
			}
			order = append(order, d.name)
			decls[d.name] = d.piece
		}
		if p.decls == nil {
			p.decls = map[string]piece{}
		} else {
			p.order = append(p.order, "main")
		}
		for _, name := range order {
			p.decls[name] = decls[name]
			p.order = append(p.order, name)
		}
		used := p.used()
		for name, i := range imports {
			if used[name] || name == "." || strings.HasPrefix(name, "_") {
				p.imports = append(p.imports, i)
			}
		}
		all = append(all, p)
	}
	return all, problems
}

// overlap tells whether two lists of names have one in common.
func overlap(a, b string) bool {
	names := strings.Split(b, ",")
	return slices.ContainsFunc(strings.Split(a, ","), func(n string) bool { return slices.Contains(names, n) })
}

// command is a line without the comment sign that may hide a command from
// other tools.
func command(line string) string { return strings.TrimPrefix(line, "//gonb:") }

func unknown(magic string) string {
	return magic + ": GoNB has no such command, and would go on without a word"
}

// clear blanks the lines that are commands and returns where the body of main
// begins, the number of lines if there is none.
func clear(lines []string, cell int) (main int, problems []problem) {
	main = len(lines)
	continued := false
	for i, line := range lines {
		line = command(line)
		special := strings.HasPrefix(line, "%") || strings.HasPrefix(line, "!")
		if !special && !continued {
			continue
		}
		lines[i] = ""
		if special && !continued {
			if word := strings.Fields(line + " ")[0]; word[0] == '%' {
				switch {
				case !slices.Contains(magics, word[1:]):
					problems = append(problems, problem{cell, i + 1, unknown(word)})
				case strings.HasPrefix(word, "%%") && len(word) > 2:
					problems = append(problems, problem{cell, i + 1, word + ": must be the first line of its cell"})
				case word == "%%" || word == "%main":
					main = i + 1
				}
			}
		}
		continued = strings.HasSuffix(line, "\\")
	}
	return main, problems
}

// used are the names before dots in a program.
func (p *program) used() map[string]bool {
	used := map[string]bool{}
	f, err := parser.ParseFile(token.NewFileSet(), "", p.source(0), parser.SkipObjectResolution)
	if f == nil || err != nil && len(f.Decls) == 0 {
		return used
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				used[x.Name] = true
			}
		}
		return true
	})
	return used
}

// source is the program's text. Its errors are placed in cells of notebook n.
func (p *program) source(n int) string {
	var b strings.Builder
	b.WriteString("package main\n")
	put := func(x piece) {
		fmt.Fprintf(&b, "//line /@%d/[cell %d]:%d:%d\n%s\n", n, x.cell, x.line, x.column, x.text)
	}
	for _, i := range p.imports {
		put(i)
	}
	for _, name := range p.order {
		put(p.decls[name])
	}
	if _, own := p.decls["main"]; own {
		return b.String()
	}
	b.WriteString("func main() {\n")
	if p.body.text != "" {
		put(p.body)
	}
	b.WriteString("\n}\n")
	return b.String()
}
