package lab

import (
	"context"
	"errors"
	"os"
	"strings"
)

// What a program that shows more than text, as a notebook does, takes from a
// session: its tables, its figures and the progress of its runs.

// Tables, if it is set, writes the tables of all commands in place of aligned
// text. Set it before the first command. Numeric tells which columns hold
// numbers.
var Tables func(header []string, rows [][]string, numeric []bool) string

// Viewer is told how training goes. A session whose Err is one tells it of every
// step in this process.
type Viewer interface {
	// Begin announces a run, perhaps more than once, by its name and its number
	// among those of the command, from 1.
	Begin(run string, number, runs, steps int)
	Step(step int, loss, tokensPerS float64)
}

// IsWorker tells whether a sweep started this process to take some of its runs. A
// program with a main of its own must then do what Main does.
func IsWorker() bool { return os.Getenv(workerVar) != "" }

// figurePrefix opens the line on which a command says where it drew a figure.
const figurePrefix = "figure "

// FigureIn returns the path of the SVG file that a line of output names as a
// command's figure.
func FigureIn(line string) (path string, ok bool) {
	rest, ok := strings.CutPrefix(line, figurePrefix)
	path, _, _ = strings.Cut(rest, " (")
	return path, ok && strings.HasSuffix(path, ".svg")
}

// Do runs lines of the command language as a script does: the first error ends
// it, and names the line as name:line.
func (s *Session) Do(ctx context.Context, name, lines string) error {
	err := s.runLines(ctx, newPlainReader(strings.NewReader(lines)), name)
	if errors.Is(err, errQuit) {
		return nil
	}
	return err
}
