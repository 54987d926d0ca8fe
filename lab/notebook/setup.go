package notebook

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// The versions of the programs and of all that they are built from.
//
//go:embed tools.mod
var toolsMod []byte

//go:embed tools.sum
var toolsSum []byte

// tools are the packages of the programs that setup builds, with the modules
// that give their versions.
var tools = [][2]string{
	{"github.com/janpfeifer/gonb", "github.com/janpfeifer/gonb"},
	{"golang.org/x/tools/cmd/goimports", "golang.org/x/tools"},
}

// version is that of a module in a go.mod.
func version(mod []byte, module string) string {
	m := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(module) + ` (v\S+)`).FindSubmatch(mod)
	if m == nil {
		return "unknown"
	}
	return string(m[1])
}

// setup builds the kernel's programs and what cells import, registers the
// kernel, and says what else there is to install.
func setup(ctx context.Context, out io.Writer, repo string) error {
	goPath, err := exec.LookPath("go")
	if err != nil {
		return errors.New("go is not on PATH: it compiles the cells")
	}
	dir, err := kernelFolder()
	if err != nil {
		return err
	}
	bin := filepath.Join(dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	say := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	say("building gonb %s and goimports %s in %s; go downloads their modules, about 95 MB, unless it has them", version(toolsMod, tools[0][1]), version(toolsMod, tools[1][1]), bin)
	if err := buildTools(ctx, dir, bin); err != nil {
		return err
	}
	say("compiling what cells import; the first time takes a minute or two")
	if err := prebuild(ctx, repo); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(bin, "kalmarz"), launcher(repo, bin), 0o755); err != nil {
		return err
	}
	spec, err := json.MarshalIndent(newKernel(bin, repo, filepath.Dir(goPath)), "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "kernel.json"), append(spec, '\n'), 0o644); err != nil {
		return err
	}
	say("registered the kernel %q for JupyterLab, Notebook and VS Code: %s", kernelTitle, dir)
	if j, err := findJupyter(repo); err != nil {
		say("missing: %v", err)
	} else {
		say("open the notebooks: %s lab %s", j, filepath.Join(repo, "notebooks"))
	}
	if _, err := exec.LookPath("rsvg-convert"); err != nil {
		say("missing: rsvg-convert; without it the PDFs of figures lack transparency and Greek letters; on Debian and Ubuntu: apt-get install librsvg2-bin fonts-liberation")
	}
	return nil
}

// buildTools builds the programs from their own module, so that their versions
// are those of tools.mod whatever the repository needs.
func buildTools(ctx context.Context, dir, bin string) error {
	src := filepath.Join(dir, "tools")
	err := os.MkdirAll(src, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(src, "go.mod"), toolsMod, 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(src, "go.sum"), toolsSum, 0o644)
	}
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-o", bin+string(filepath.Separator), tools[0][0], tools[1][0])
	c.Dir = src
	c.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOEXPERIMENT=")
	if text, err := c.CombinedOutput(); err != nil {
		return failure("building gonb and goimports", err, text)
	}
	return nil
}

// prebuild compiles what cells import, as cells see it, so that a first cell
// does not wait; modules that a fresh clone lacks are downloaded here.
func prebuild(ctx context.Context, repo string) error {
	dir, remove, err := workspace(repo)
	if err != nil {
		return err
	}
	defer remove()
	c := goCommand(ctx, dir, "build", module+"/lab/cell", module+"/layers/...", module+"/viz", module+"/cmd/...")
	c.Env = append(c.Env, "GOPROXY="+os.Getenv("GOPROXY"))
	if text, err := c.CombinedOutput(); err != nil {
		return failure("building the packages of "+repo, err, text)
	}
	return nil
}

// launcher is the program kalmarz of %%script cells: it follows the source.
func launcher(repo, bin string) []byte {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	program := quote(filepath.Join(bin, "kalmarz-built"))
	return fmt.Appendf(nil, "#!/bin/sh\n# Builds kalmarz if its source has changed, and runs it.\ngo build -C %s -o %s ./cmd/kalmarz && exec %s \"$@\"\n", quote(repo), program, program)
}
