package backend

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// python is what python3 says about itself.
type python struct {
	Version string   // "" if there is no python3
	Sites   []string // where its packages are
	Managed bool     // the system forbids pip outside a virtual environment
}

// askPython runs python3 once in the life of the process.
var askPython = sync.OnceValue(func() python {
	const program = `
import os, platform, sys, sysconfig
own = sys.prefix == sys.base_prefix
mark = os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
print(platform.python_version())
print(own and os.path.exists(mark))
print("\n".join(sys.path))`
	out, err := ask(5*time.Second, "python3", "-c", program)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err != nil || len(lines) < 2 {
		return python{}
	}
	p := python{Version: lines[0], Managed: lines[1] == "True"}
	for _, dir := range lines[2:] {
		if filepath.IsAbs(dir) {
			p.Sites = append(p.Sites, dir)
		}
	}
	return p
})

// ask runs a program for its standard output, for so long at most.
func ask(limit time.Duration, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var out bytes.Buffer
	cmd.Stdout = &out
	cmd.WaitDelay = time.Second // a grandchild may hold the pipe
	err := cmd.Run()
	return out.String(), err
}
