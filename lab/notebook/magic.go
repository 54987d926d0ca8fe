package notebook

import (
	"slices"
	"strings"
)

// magics are GoNB's commands for a line, those that a cell may begin with last.
var magics = strings.Fields("% main args test exec wasm widgets widgets_hb env cd goflags autoget noautoget help version reset ls list rm remove " +
	"with_inputs with_password track untrack goworkfix capture %writefile %script %bash %sh %gx")

// problem is an error in a cell.
type problem struct {
	cell, line int
	text       string
}

// command is a line without the comment sign that may hide a command from
// other tools.
func command(line string) string { return strings.TrimPrefix(line, "//gonb:") }

func unknown(magic string) string {
	return magic + ": GoNB has no such command, and would go on without a word"
}

// otherProgram tells whether a cell's first line hands the cell to another
// program, and what is wrong if it is none that GoNB knows.
func otherProgram(line string) (other bool, problem string) {
	word, _, _ := strings.Cut(strings.TrimSpace(command(line)), " ")
	if !strings.HasPrefix(word, "%%") || word == "%%" {
		return false, ""
	}
	if !slices.Contains(magics, word[1:]) {
		problem = unknown(word)
	}
	return true, problem
}

// isReset tells whether a line makes GoNB forget all declarations.
func isReset(line string) bool { return strings.TrimSpace(command(line)) == "%reset" }

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
