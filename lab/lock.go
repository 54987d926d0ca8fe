package lab

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

var (
	// errInUse says that another process, or another run of this one, has a folder.
	errInUse = errors.New("in use")
	// errTaken says that a run has had its turn in this sweep.
	errTaken = errors.New("taken before in this sweep")
)

// lockFolder makes a folder this process's own until unlock, or refuses and
// names the process that has it. The lock is the system's, on the file .lock:
// it ends with its process, so one that was killed blocks nobody. The file
// stays, since removing it would let two processes lock two files.
func lockFolder(dir string) (unlock func() error, err error) { return claim(dir, "") }

// claim is lockFolder for a sweep's process. The file keeps the sweep's name, so
// that none of its processes takes the run again, whatever became of it.
func claim(dir, sweep string) (unlock func() error, err error) {
	unlock, err = hold(dir)
	if err != nil {
		return nil, err
	}
	if sweep != "" && readOwner(dir).sweep == sweep {
		return nil, errors.Join(errTaken, unlock())
	}
	if err := sign(dir, sweep); err != nil {
		return nil, errors.Join(err, unlock())
	}
	return unlock, nil
}

// hold is lockFolder without a word of who has the folder.
func hold(dir string) (unlock func() error, err error) {
	f := flock.New(lockFile(dir))
	ok, err := f.TryLock()
	for wait := time.Millisecond; err == nil && !ok && wait < 20*time.Millisecond; wait *= 2 {
		time.Sleep(wait) // who only asks whether it is locked has it for a moment
		ok, err = f.TryLock()
	}
	return held(dir, f, ok, err)
}

func held(dir string, f *flock.Flock, ok bool, err error) (unlock func() error, _ error) {
	if err != nil {
		return nil, fmt.Errorf("%s: cannot lock: %w", f.Path(), cause(err))
	}
	if !ok {
		return nil, fmt.Errorf("%s is %w by %s", dir, errInUse, readOwner(dir))
	}
	return f.Unlock, nil
}

// shareFolder keeps others from having a folder for themselves, as to remove it,
// until unlock. Many may share it.
func shareFolder(dir string) (unlock func() error, err error) {
	f := flock.New(lockFile(dir))
	ok, err := f.TryRLock()
	if unlock, err = held(dir, f, ok, err); err != nil {
		return nil, err
	}
	if err := sign(dir, ""); err != nil {
		return nil, errors.Join(err, unlock())
	}
	return unlock, nil
}

func lockFile(dir string) string { return filepath.Join(dir, ".lock") }

// owner is who had a folder last: what .lock says, for messages and for sweeps.
type owner struct{ process, host, sweep string }

func sign(dir, sweep string) error {
	host, _ := os.Hostname() // empty is as good
	return os.WriteFile(lockFile(dir), fmt.Appendf(nil, "%d %s %s\n", os.Getpid(), url.QueryEscape(host), sweep), 0o644)
}

func readOwner(dir string) owner {
	b, _ := os.ReadFile(lockFile(dir)) // empty if it was not yet written
	fields := append(strings.Fields(string(b)), "", "", "")
	return owner{fields[0], fields[1], fields[2]}
}

func (o owner) String() string {
	if host, _ := os.Hostname(); o.host != "" && o.host != url.QueryEscape(host) {
		return "process " + o.process + " on " + o.host
	}
	return "process " + o.process
}

// locked tells whether somebody has a folder, without taking it.
func locked(dir string) bool {
	path := lockFile(dir)
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
