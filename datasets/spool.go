package datasets

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
)

// spool collects bytes in memory, and in a file beside path once they are many.
type spool struct {
	path   string
	memory []byte
	file   *os.File
}

func (s *spool) Write(p []byte) (int, error) {
	if s.file == nil && len(s.memory)+len(p) <= inMemory {
		s.memory = append(s.memory, p...)
		return len(p), nil
	}
	if s.file == nil {
		if err := os.MkdirAll(filepath.Dir(s.path), 0o755); err != nil {
			return 0, err
		}
		f, err := os.CreateTemp(filepath.Dir(s.path), "partial-*")
		if err != nil {
			return 0, err
		}
		s.file = f
		if _, err := f.Write(s.memory); err != nil {
			return 0, err
		}
		s.memory = nil
	}
	return s.file.Write(p)
}

func (s *spool) reader() (io.ReaderAt, error) {
	if s.file == nil {
		return bytes.NewReader(s.memory), nil
	}
	return os.Open(s.file.Name())
}

// keep gives the file its name, and writes the facts beside it first: only both
// together are a store.
func (s *spool) keep(facts storeFacts) error {
	if s.file == nil {
		return nil
	}
	text, err := json.Marshal(facts)
	if err == nil {
		err = os.WriteFile(s.path+".json", text, 0o644)
	}
	if err == nil {
		err = os.Rename(s.file.Name(), s.path)
	}
	return err
}

// discard removes a file that was not kept.
func (s *spool) discard() {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
	}
}
