package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// errInUse says that another process, or another run of this one, has a folder.
var errInUse = errors.New("in use")

// lockFolder makes a folder this process's own until unlock, or refuses and
// names the process that has it. The lock is the system's, on the file .lock:
// it ends with its process, so one that was killed blocks nobody. The file
// stays, since removing it would let two processes lock two files.
func lockFolder(dir string) (unlock func() error, err error) {
	path := filepath.Join(dir, ".lock")
	f := flock.New(path)
	ok, err := f.TryLock()
	if err != nil {
		return nil, fmt.Errorf("%s: cannot lock: %w", path, cause(err))
	}
	if !ok {
		owner, _ := os.ReadFile(path) // a name for the message; empty if it was not yet written
		return nil, fmt.Errorf("%s is %w by process %s", dir, errInUse, strings.TrimSpace(string(owner)))
	}
	if err := os.WriteFile(path, fmt.Appendln(nil, os.Getpid()), 0o644); err != nil {
		return nil, errors.Join(err, f.Unlock())
	}
	return f.Unlock, nil
}

// locked tells whether somebody has a folder, without taking it.
func locked(dir string) bool {
	path := filepath.Join(dir, ".lock")
	if _, err := os.Stat(path); err != nil {
		return false
	}
	f := flock.New(path, flock.SetFlag(os.O_RDONLY))
	ok, err := f.TryRLock()
	if !ok {
		return err == nil
	}
	f.Unlock()
	return false
}
