package lab

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/kalmarz/kalmarz/datasets"
	"github.com/kalmarz/kalmarz/lab/backend"
)

// configHash names a complete configuration.
func configHash(config []KeyValue) string { return digest(fmt.Append(nil, config)) }

// hashedBatches is how many training batches a data hash covers: enough to
// notice another text, tokenizer or generator, and little work.
const hashedBatches = 2

// dataHash names the data that a seed gives, by the bytes of the first training
// batches.
func dataHash(e *Experiment, seed uint64) (string, error) {
	h := sha256.New()
	for i := range min(hashedBatches, e.Int("steps")) {
		b, err := e.Task.Batch(datasets.Train, seed, i, e.Int("batch"))
		if err != nil {
			return "", err
		}
		for _, part := range []any{int64(b.Rows), int64(b.T), b.Inputs, b.Targets, b.Mask} {
			if err := binary.Write(h, binary.LittleEndian, part); err != nil {
				return "", err
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// program names the program whose results can be taken for one another's: by
// the revision it was built from if nothing was modified, or else by its bytes.
var program = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if ok {
		set := map[string]string{}
		for _, s := range info.Settings {
			set[s.Key] = s.Value
		}
		if set["vcs.revision"] != "" && set["vcs.modified"] == "false" {
			return fmt.Sprintf("revision %s, %s, simd %v", set["vcs.revision"], runtime.Version(), backend.SIMD)
		}
	}
	path, err := executable()
	if err != nil {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return "build " + hex.EncodeToString(h.Sum(nil))[:16]
})

// executable is this program's file, even after it was removed or replaced
// where the system tells.
func executable() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self, nil
	}
	return os.Executable()
}

// sameRun tells whether a record is of this very run: configuration, seed, data,
// program, backend and, unless any will do, device. A record that does not say by
// what it was made is not.
func (s *Session) sameRun(r *Record, e *Experiment, seed uint64) bool {
	if !slices.Equal(r.Config, e.complete) || r.Seed != seed || r.Program == "" || r.Program != program() ||
		!s.anyDevice && r.Device != s.choice.Device() || r.platform() != s.choice.Config {
		return false
	}
	data, err := dataHash(e, seed)
	return err == nil && data == r.DataHash
}

// platform is the backend's configuration without the reason for its choice.
func (r *Record) platform() string {
	config, _, _ := strings.Cut(r.Backend, " (")
	return config
}
