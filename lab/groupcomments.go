package lab

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/kalmarz/kalmarz/lab/backend"
)

var layerNumber = regexp.MustCompile(`/\d+/`)

// groupComments says as comments of a TOML file which optimiser has which
// parameters. Those that differ in the layer alone share a line.
func (e *Experiment) groupComments() (string, error) {
	be, _, err := backend.Open("go") // nothing is run
	if err != nil {
		return "", err
	}
	defer be.Finalize()
	entries, err := e.Model.Entries(be)
	if err != nil {
		return "", err
	}
	kind, o := e.optimiser()
	var b strings.Builder
	for _, g := range kind.Groups(o, entries) {
		fmt.Fprintf(&b, "\n# %s updates %d parameters, %d values:\n", g.Optimiser, len(g.Entries), g.Size())
		var lines []string
		count := map[string]int{}
		for _, entry := range g.Entries {
			line := fmt.Sprintf("#   %s %v", layerNumber.ReplaceAllString(entry.Name, "/*/"), entry.Dims)
			if count[line]++; count[line] == 1 {
				lines = append(lines, line)
			}
		}
		for _, line := range lines {
			b.WriteString(line)
			if n := count[line]; n > 1 {
				fmt.Fprintf(&b, " x %d", n)
			}
			b.WriteByte('\n')
		}
	}
	return b.String(), nil
}
