package notebook

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/kalmarz/kalmarz/lab/backend"
)

// The kernel by the name that notebooks have, and by the one that people see.
const (
	kernelName  = "kalmarz"
	kernelTitle = "Kalmarz (Go)"
)

// kernelSpec is kernel.json, https://jupyter-client.readthedocs.io/en/stable/kernels.html.
type kernelSpec struct {
	Argv      []string          `json:"argv"`
	Title     string            `json:"display_name"`
	Language  string            `json:"language"`
	Interrupt string            `json:"interrupt_mode"`
	Env       map[string]string `json:"env"`
}

// dataFolder is where Jupyter keeps a user's kernels, for JupyterLab, Notebook
// and VS Code alike.
func dataFolder() (string, error) {
	if d := os.Getenv("JUPYTER_DATA_DIR"); d != "" {
		return filepath.Abs(d)
	}
	home, err := os.UserHomeDir()
	switch {
	case err != nil:
		return "", fmt.Errorf("%w; JUPYTER_DATA_DIR can name Jupyter's folder", err)
	case runtime.GOOS == "darwin":
		return filepath.Join(home, "Library", "Jupyter"), nil
	}
	if d := os.Getenv("XDG_DATA_HOME"); d != "" {
		return filepath.Join(d, "jupyter"), nil
	}
	return filepath.Join(home, ".local", "share", "jupyter"), nil
}

// kernelFolder holds the kernel's file and its programs.
func kernelFolder() (string, error) {
	d, err := dataFolder()
	return filepath.Join(d, "kernels", kernelName), err
}

// newKernel is the kernel whose programs are in bin and whose cells import repo.
func newKernel(bin, repo, goBin string) kernelSpec {
	k := kernelSpec{
		Argv:      []string{filepath.Join(bin, "gonb"), "--kernel", "{connection_file}", "-go_work=" + repo},
		Title:     kernelTitle,
		Language:  "go",
		Interrupt: "message",
		Env:       map[string]string{"PATH": strings.Join([]string{bin, goBin, "${PATH}"}, string(os.PathListSeparator))},
	}
	for _, s := range goSettings {
		name, value, _ := strings.Cut(s, "=")
		k.Env[name] = value
	}
	if name, value := backend.Environment(); name != "" {
		k.Env[name] = value
	}
	return k
}

// repo is the clone that the kernel's cells import.
func (k kernelSpec) repo() string {
	for _, a := range k.Argv {
		if r, ok := strings.CutPrefix(a, "-go_work="); ok {
			return r
		}
	}
	return ""
}

// registered reads the kernel that setup has registered.
func registered() (k kernelSpec, err error) {
	dir, err := kernelFolder()
	if err != nil {
		return k, err
	}
	path := filepath.Join(dir, "kernel.json")
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return k, fmt.Errorf("the kernel %q is not registered: run kalmarz notebook setup", kernelTitle)
	}
	if err == nil {
		err = json.Unmarshal(b, &k)
	}
	if err != nil {
		return k, fmt.Errorf("%s: %w: kalmarz notebook setup writes it anew", path, err)
	}
	return k, nil
}

// ready tells whether the registered kernel can run notebooks of the clone.
func ready(repo string) error {
	k, err := registered()
	if err != nil {
		return err
	}
	if k.repo() != repo {
		return fmt.Errorf("the kernel %q is of the clone in %s: kalmarz notebook setup makes it that of this one", kernelTitle, k.repo())
	}
	if _, err := os.Stat(k.Argv[0]); err != nil {
		return fmt.Errorf("%w: kalmarz notebook setup builds it", err)
	}
	return nil
}
