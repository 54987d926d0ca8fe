package lab

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// historyLines is how many lines of history are kept from session to session.
const historyLines = 2000

// historyFile names the history, readable by its owner alone and cut to its last
// lines; empty if there can be none.
func historyFile(note func(string)) string {
	config, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	path := filepath.Join(config, "kalmarz", "history")
	if err := ownHistory(path); err != nil {
		note("warning: no history is kept: " + err.Error())
		return ""
	}
	return path
}

func ownHistory(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Chmod(0o600); err != nil {
		return err
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(string(text), "\n")
	if len(lines) <= historyLines+historyLines/2 {
		return nil
	}
	shorter, err := os.CreateTemp(filepath.Dir(path), "history-*") // 0600
	if err != nil {
		return err
	}
	_, err = shorter.WriteString(strings.Join(lines[len(lines)-historyLines:], ""))
	if err = errors.Join(err, shorter.Close()); err != nil {
		return errors.Join(err, os.Remove(shorter.Name()))
	}
	return os.Rename(shorter.Name(), path)
}
