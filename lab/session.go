package lab

import (
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"golang.org/x/term"

	"github.com/kalmarz/kalmarz/lab/backend"
	"github.com/kalmarz/kalmarz/layers/kernels"
	"github.com/kalmarz/kalmarz/layers/model"
)

// Session is one use of the laboratory: where it prints, the backend once it is
// needed, and the compiled graphs that later runs can use again.
type Session struct {
	Out, Err io.Writer
	Backend  string // the request; "" leaves the choice open

	console
	saveAfter time.Duration // between checkpoints of a run with save_every=0
	anyDevice bool          // hosts share the work: what another's has run is kept
	be        compute.Backend
	opened    string // the request that be answers
	choice    backend.Choice
	trainers  map[string]*trainer
	costs     map[string]model.Cost
}

// NewSession returns a session that prints to the given writers.
func NewSession(out, err io.Writer) *Session {
	return &Session{Out: out, Err: err, saveAfter: 30 * time.Second, trainers: map[string]*trainer{}, costs: map[string]model.Cost{}}
}

// open chooses and opens the backend, once for each request that follows
// another, and says what it chose.
func (s *Session) open() (compute.Backend, error) {
	if s.be != nil && s.opened == s.Backend {
		return s.be, nil
	}
	be, choice, err := backend.Open(s.Backend)
	if err != nil {
		return nil, err
	}
	for _, w := range choice.Warnings {
		s.note("warning: " + w)
	}
	if choice.Platform == "go" && !backend.SIMD {
		s.note("warning: built without GOEXPERIMENT=simd: the pure-Go backend runs about 6 times slower")
	}
	s.note("backend " + choice.String())
	if s.be != nil { // compiled graphs belong to the backend that compiled them
		clear(s.trainers)
		clear(s.costs)
		s.be.Finalize()
	}
	s.be, s.choice, s.opened = be, choice, s.Backend
	kernels.Watch(be, func(reason error) {
		s.note("warning: from here on graphs run without fused kernels: " + backend.Reason(reason))
	})
	return be, nil
}

// note prints a line that is not part of the result.
func (s *Session) note(line string) { io.WriteString(s.Err, line+"\n") }

// trainer returns the compiled graphs for an experiment.
func (s *Session) trainer(e *Experiment) (*trainer, error) {
	be, err := s.open()
	if err != nil {
		return nil, err
	}
	key := e.graphKey()
	if t := s.trainers[key]; t != nil {
		return t, nil
	}
	t, err := newTrainer(be, e)
	if err == nil {
		s.trainers[key] = t
	}
	return t, err
}

// drop forgets the compiled graphs of a run that failed, which a panic may have left
// half made. Where the device's memory is full it forgets all graphs and parameters,
// so that the next run finds it as empty as a new process does.
func (s *Session) drop(e *Experiment, err error) {
	if !noMemory(err) {
		delete(s.trainers, e.graphKey())
		return
	}
	for _, t := range s.trainers {
		t.close()
	}
	clear(s.trainers)
	reclaim()
}

// cost counts what an experiment's model takes, once for each shape.
func (s *Session) cost(e *Experiment) (model.Cost, error) {
	be, err := s.open()
	if err != nil {
		return model.Cost{}, err
	}
	key := e.graphKey()
	c, ok := s.costs[key]
	if !ok {
		if c, err = e.Model.Cost(be, e.form(), e.Task.Info().T); err != nil {
			return c, err
		}
		if e.dtype() == dtypes.Float64 {
			c.StateBytes *= 2
		}
		s.costs[key] = c
	}
	return c, nil
}

func (s *Session) newRecord(e *Experiment, seed uint64) (*Record, error) {
	c, err := s.cost(e)
	if err != nil {
		return nil, err
	}
	data, err := dataHash(e, seed)
	if err != nil {
		return nil, err
	}
	return &Record{
		Config: e.Complete(), ConfigHash: configHash(e.complete), DataHash: data, Seed: seed, Status: Running,
		Parameters: c.Parameters, StateBytes: c.StateBytes, FLOPs: c.FLOPs,
		Backend: s.choice.String(), Repeatable: s.choice.Platform == "go", Device: s.choice.Device(), Program: program(), Versions: versions(), Command: s.commandLine(), Started: time.Now(),
	}, nil
}

// versions names what a result depends on.
func versions() map[string]any {
	v := map[string]any{"go": runtime.Version(), "os": runtime.GOOS + "/" + runtime.GOARCH, "cores": runtime.NumCPU(), "simd": backend.SIMD}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, d := range info.Deps {
		if strings.HasPrefix(d.Path, "github.com/gomlx/") {
			v[d.Path] = d.Version
		}
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
			v[s.Key] = s.Value
		}
	}
	return v
}

// terminal tells whether a writer is a terminal that takes a line that is
// redrawn.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}
