package notebook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// module is the path of the repository's module.
const module = "github.com/kalmarz/kalmarz"

// goSettings are how cells are compiled, whatever the user's own settings are:
// without the tables for debuggers linking takes half the time.
var goSettings = []string{"GOEXPERIMENT=simd", "GOFLAGS=-mod=readonly '-ldflags=-s -w'", "GOPROXY=off", "GOWORK="}

var moduleLine = regexp.MustCompile(`(?m)^module\s+(\S+)`)

// repository is the clone that cells import: the one around the working folder,
// or that of the registered kernel.
func repository() (string, error) {
	work, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := work; ; dir = filepath.Dir(dir) {
		b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if m := moduleLine.FindSubmatch(b); err == nil && m != nil && string(m[1]) == module {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if k, err := registered(); err == nil && k.repo() != "" {
		return k.repo(), nil
	}
	return "", errors.New("not inside a clone of Kalmarz, which cells import: change into it")
}

// workspace makes a temporary folder with a module that sees the repository as
// cells do.
func workspace(repo string) (dir string, remove func(), err error) {
	b, err := os.ReadFile(filepath.Join(repo, "go.mod"))
	if err != nil {
		return "", nil, err
	}
	m := regexp.MustCompile(`(?m)^go\s+(\S+)`).FindSubmatch(b)
	if m == nil {
		return "", nil, fmt.Errorf("%s: no line go VERSION", filepath.Join(repo, "go.mod"))
	}
	if dir, err = os.MkdirTemp("", "kalmarz-cells-"); err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	err = errors.Join(
		os.WriteFile(filepath.Join(dir, "go.mod"), fmt.Appendf(nil, "module cells\n\ngo %s\n", m[1]), 0o644),
		os.WriteFile(filepath.Join(dir, "go.work"), fmt.Appendf(nil, "go %s\n\nuse (\n\t.\n\t%q\n)\n", m[1], repo), 0o644))
	if err != nil {
		remove()
		return "", nil, err
	}
	return dir, remove, nil
}

// goCommand is the go tool with the settings of cells.
func goCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), goSettings...)
	return c
}

// failure is what a command that failed says, in one line.
func failure(what string, err error, output []byte) error {
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" {
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s: %w: %s", what, err, last)
}
