package notebook

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// Versions with which notebooks are known to run.
const installJupyter = "python3 -m venv .venv && .venv/bin/python3 -m pip install jupyterlab==4.4.9 nbconvert==7.17.2"

// findJupyter returns the program jupyter of the active virtual environment, of
// .venv here or in the repository, or on PATH.
func findJupyter(repo string) (string, error) {
	var places []string
	if v := os.Getenv("VIRTUAL_ENV"); v != "" {
		places = append(places, v)
	}
	places = append(places, ".venv", filepath.Join(repo, ".venv"))
	for _, p := range places {
		if path, err := exec.LookPath(filepath.Join(p, "bin", "jupyter")); err == nil {
			return filepath.Abs(path)
		}
	}
	if path, err := exec.LookPath("jupyter"); err == nil {
		return path, nil
	}
	return "", errors.New("Jupyter; install it in the repository with: " + installJupyter)
}
