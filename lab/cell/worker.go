package cell

import (
	"os"

	"github.com/kalmarz/kalmarz/lab"
)

// stdout is the process's standard output: a worker's is its sweep's.
var stdout = os.Stdout

func init() {
	if lab.IsWorker() {
		os.Stdout = os.Stderr // what the cell prints before its first Run
	}
}

// work is what the process of a cell does that a sweep of the cell started: all
// that the cell declares is known by now, and the rest is not its business.
func work() {
	os.Stdout = stdout
	os.Exit(lab.Main(os.Args[1:]))
}
