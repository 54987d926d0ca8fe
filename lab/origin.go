package lab

import (
	"encoding/json"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Origin is what a measurement depends on.
type Origin struct {
	Backend  string         `json:"backend"`
	Device   string         `json:"device"`
	Program  string         `json:"program"`
	Versions map[string]any `json:"versions"`
	Command  []string       `json:"command"`
	Started  time.Time      `json:"started"`
}

func (s *Session) origin() Origin {
	return Origin{Backend: s.choice.String(), Device: s.choice.Device(), Program: program(), Versions: versions(), Command: s.commandLine(), Started: time.Now().UTC()}
}

var fileWords = regexp.MustCompile(`[^a-z0-9]+`)

// keptPath is where --save keeps what was measured: a file, or in a folder a name
// made of the device, the day and what it was.
func (o Origin) keptPath(to string, what ...string) string {
	if strings.HasSuffix(to, ".json") {
		return to
	}
	device, _, _ := strings.Cut(o.Device, ",")
	platform, _, _ := strings.Cut(o.Backend, ",")
	platform, _, _ = strings.Cut(platform, " ")
	platform, _, _ = strings.Cut(platform, ":parallelism")
	name := strings.Join(append([]string{device, platform, o.Started.Format("2006-01-02")}, what...), " ")
	return filepath.Join(to, strings.Trim(fileWords.ReplaceAllString(strings.ToLower(name), "-"), "-")+".json")
}

// writableFor fails if --save could not keep a report there.
func writableFor(to string) error {
	if strings.HasSuffix(to, ".json") {
		to = filepath.Dir(to)
	}
	return writable(to)
}

// printJSON prints a report for other programs.
func printJSON(w io.Writer, report any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(report)
}
