package notebook

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
)

// GoNB joins a cell with what the cells before it declared: names stay, a later
// one replaces an earlier, what follows %% is the body of main, and lines that
// begin with % or ! are commands. program does the same.

// piece is the text of a declaration and where it came from.
type piece struct {
	text       string
	cell, line int
	column     int
}

// program is what a cell compiles to.
type program struct {
	cell int
	known
	body piece
}

// known is what cells have declared so far.
type known struct {
	imports map[string]piece // by the name before the dot
	decls   map[string]piece
	order   []string // of decls
}

func nothingKnown() known { return known{imports: map[string]piece{}, decls: map[string]piece{}} }

// add makes d known in place of what has one of its names.
func (k *known) add(d declaration) {
	if d.imported {
		k.imports[d.name] = d.piece
		return
	}
	k.order = slices.DeleteFunc(k.order, func(old string) bool { return overlap(old, d.name) })
	k.order = append(k.order, d.name)
	k.decls[d.name] = d.piece
}

func (k *known) clone() known {
	return known{maps.Clone(k.imports), maps.Clone(k.decls), slices.Clone(k.order)}
}

// programs turns a notebook's Go cells into programs.
func (f *file) programs() (all []program, problems []problem) {
	k := nothingKnown()
	for _, c := range f.Cells {
		if !c.code() {
			continue
		}
		lines := strings.Split(string(c.Source), "\n")
		if other, unknown := otherProgram(lines[0]); other {
			if unknown != "" {
				problems = append(problems, problem{c.number, 1, unknown})
			}
			continue
		}
		if slices.ContainsFunc(lines, isReset) {
			k = nothingKnown()
		}
		main, bad := clear(lines, c.number)
		problems = append(problems, bad...)
		parsed, bad := parse(strings.Join(lines[:main], "\n"), c.number)
		problems = append(problems, bad...)
		var own []declaration // a main of its own is not kept
		for _, d := range parsed {
			if d.name == "main" && !d.imported {
				own = append(own, d)
			} else {
				k.add(d)
			}
		}
		p := program{cell: c.number, known: k.clone()}
		if main < len(lines) {
			p.body = piece{strings.Join(lines[main:], "\n"), c.number, main + 1, 1}
		}
		for _, d := range own {
			p.add(d)
		}
		p.dropUnused()
		all = append(all, p)
	}
	return all, problems
}

// overlap tells whether two lists of names have one in common.
func overlap(a, b string) bool {
	names := strings.Split(b, ",")
	return slices.ContainsFunc(strings.Split(a, ","), func(n string) bool { return slices.Contains(names, n) })
}

// dropUnused leaves out imports that the program does not use, as GoNB does.
func (p *program) dropUnused() {
	used := map[string]bool{}
	f, _ := parser.ParseFile(token.NewFileSet(), "", p.source(0), parser.SkipObjectResolution)
	if f == nil {
		return
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				used[x.Name] = true
			}
		}
		return true
	})
	maps.DeleteFunc(p.imports, func(name string, _ piece) bool {
		return !used[name] && name != "." && !strings.HasPrefix(name, "_")
	})
}

// source is the program's text. Its errors are placed in cells of notebook n.
func (p *program) source(n int) string {
	var b strings.Builder
	b.WriteString("package main\n")
	put := func(x piece) {
		fmt.Fprintf(&b, "//line /@%d/[cell %d]:%d:%d\n%s\n", n, x.cell, x.line, x.column, x.text)
	}
	for _, name := range slices.Sorted(maps.Keys(p.imports)) {
		put(p.imports[name])
	}
	for _, name := range p.order {
		put(p.decls[name])
	}
	if slices.Contains(p.order, "main") {
		return b.String()
	}
	b.WriteString("func main() {\n")
	if p.body.text != "" {
		put(p.body)
	}
	b.WriteString("\n}\n")
	return b.String()
}
