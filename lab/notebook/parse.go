package notebook

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"strconv"
	"strings"
)

// declaration is one thing that a cell declares or imports.
type declaration struct {
	piece
	name     string
	imported bool
}

// parse cuts declarations apart. Their names are unique in a program: methods
// have their type's before them.
func parse(source string, cell int) (out []declaration, problems []problem) {
	const head = "package main;"
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "", head+source, parser.ParseComments|parser.SkipObjectResolution)
	if list, ok := err.(scanner.ErrorList); ok {
		for _, e := range list {
			problems = append(problems, problem{cell, e.Pos.Line, e.Msg})
		}
		return nil, problems
	}
	add := func(name string, imported bool, prefix string, from, to token.Pos) {
		at := files.Position(from)
		if at.Line == 1 {
			at.Column -= len(head)
		}
		text := prefix + (head + source)[files.Position(from).Offset:files.Position(to).Offset]
		out = append(out, declaration{piece{text, cell, at.Line, max(1, at.Column-len(prefix))}, name, imported})
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			add(funcName(d), false, "", d.Pos(), d.End())
		case *ast.GenDecl:
			if d.Tok == token.CONST && d.Lparen.IsValid() { // iota binds its lines together
				add(specNames(d.Specs...), false, "", d.Pos(), d.End())
				continue
			}
			for _, s := range d.Specs {
				add(specNames(s), d.Tok == token.IMPORT, d.Tok.String()+" ", s.Pos(), s.End())
			}
		}
	}
	return out, nil
}

func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + d.Name.Name
		default:
			return "." + d.Name.Name
		}
	}
}

// specNames are the names that specifications declare.
func specNames(specs ...ast.Spec) string {
	var names []string
	for _, s := range specs {
		switch s := s.(type) {
		case *ast.ImportSpec:
			names = append(names, importName(s))
		case *ast.TypeSpec:
			names = append(names, s.Name.Name)
		case *ast.ValueSpec:
			for _, n := range s.Names {
				names = append(names, n.Name)
			}
		}
	}
	return strings.Join(names, ",")
}

// importName is the name under which a package is used: as given, or its
// path's last part that is no version.
func importName(s *ast.ImportSpec) string {
	p, err := strconv.Unquote(s.Path.Value)
	if err != nil {
		return ""
	}
	switch {
	case s.Name != nil && s.Name.Name == "_":
		return "_" + p
	case s.Name != nil:
		return s.Name.Name
	}
	last := path.Base(p)
	if v, ok := strings.CutPrefix(last, "v"); ok && strings.Trim(v, "0123456789") == "" && strings.Contains(p, "/") {
		last = path.Base(path.Dir(p))
	}
	return last
}
