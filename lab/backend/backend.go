// Package backend chooses where graphs run, in one place: pure Go by default,
// XLA when one of its plugins is installed. It says what it chose and why, it
// never downloads anything, and it honours the GOMLX_BACKEND variable.
//
// A program calls Prepare first thing in main, then Open:
//
//	be, choice, err := backend.Open("") // or "go", "xla:cpu", "xla:cuda"
//
// Doctor reports what was found, what is missing, and the command that installs
// it.
package backend

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend" // registers "go"

	"github.com/kalmarz/kalmarz/layers/kernels"
)

// EnvVar names the variable that GoMLX, too, reads its configuration from.
const EnvVar = compute.ConfigEnvVar

// PureGo is the configuration of the pure Go backend. Its default, with a
// bounded pool of workers, can wait for itself for ever: an operation that holds
// a worker asks the same pool for helpers.
const PureGo = "go:parallelism=-1"

func init() {
	// A compute.New elsewhere in the program must not meet the configuration
	// that deadlocks.
	compute.DefaultConfig = PureGo
}

// Choice is a backend that was chosen but not opened yet.
type Choice struct {
	Config   string   // a value that GOMLX_BACKEND takes: go:parallelism=-1, xla:cpu, xla:cuda,tf32=false
	Platform string   // go, xla:cpu or xla:cuda
	Plugin   Plugin   // XLA's plugin; zero for pure Go
	Why      string   // the reason, half a sentence
	Warnings []string // what went wrong on the way, one line each

	auto bool // nobody named this backend: another may take its place
}

// String is one line: the configuration, the reason and the plugin.
func (c Choice) String() string {
	s := fmt.Sprintf("%s (%s)", c.Config, c.Why)
	if c.Plugin.Path != "" {
		s += " from " + c.Plugin.Path
	}
	return s
}

// Choose decides on a backend. A request is "" or "auto", "go", "xla",
// "xla:cpu", "xla:cuda" or "xla:/path/of/a/plugin.so", with GoMLX's options
// after it: "go:ops_sequential", "xla:cuda,tf32=true". An empty request leaves
// it to GOMLX_BACKEND, and without that to what is installed: XLA for NVIDIA
// devices, XLA for CPUs, pure Go.
//
// It returns an error if the request is malformed or names a plugin that is not
// there or does not load. In an automatic choice such a plugin becomes a warning.
func Choose(request string) (Choice, error) { return newChooser().choose(request) }

// Open opens the chosen backend. Errors are one line and name the remedy.
func (c Choice) Open() (compute.Backend, error) {
	be, err := c.open()
	return be, c.explain(err)
}

func (c Choice) open() (compute.Backend, error) {
	if c.Platform == "go" {
		return openQuietly(c.Config)
	}
	return openXLA(c)
}

func (c Choice) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case c.Platform == "go":
		return fmt.Errorf("backend %q: %s", c.Config, oneLine(err))
	}
	return fmt.Errorf("backend %q: %s; %s", c.Config, oneLine(err), remedy(c.Plugin, err))
}

// Open chooses a backend and opens it. If nobody asked for the one chosen and it
// fails, the next best takes its place; the Choice returned is the one that is
// open, and its warnings say what failed.
func Open(request string) (compute.Backend, Choice, error) {
	return newChooser().open(request)
}

func (ch *chooser) open(request string) (compute.Backend, Choice, error) {
	failed := map[string]error{}
	load := ch.load
	ch.load = func(p Plugin) error { return cmp.Or(failed[p.Path], load(p)) }
	for {
		choice, err := ch.choose(request)
		if err != nil {
			return nil, Choice{}, err
		}
		be, err := choice.open()
		if err == nil {
			if choice.Platform == "xla:cuda" && !kernels.On(be) && kernelsOff() == "" {
				choice.Warnings = append(choice.Warnings, "no fused kernels: "+noHook(choice.Plugin))
			}
			return be, choice, nil
		}
		if !choice.auto || choice.Platform == "go" {
			return nil, choice, choice.explain(err)
		}
		failed[choice.Plugin.Path] = err
	}
}

var quiet sync.Mutex

// openQuietly opens a backend of package compute. The pure Go one prints its
// parallelism on standard output, where it would spoil a table or JSON.
func openQuietly(config string) (compute.Backend, error) {
	quiet.Lock()
	defer quiet.Unlock()
	if null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		stdout := os.Stdout
		os.Stdout = null
		defer func() { os.Stdout = stdout; null.Close() }()
	}
	return compute.NewWithConfig(config)
}

// known lists what a request can name, for error messages.
func known(plugins []Plugin) string {
	names := []string{"auto", "go", "xla", "xla:cpu", "xla:cuda"}
	for _, p := range plugins {
		names = append(names, "xla:"+p.Platform)
	}
	slices.Sort(names[5:])
	return strings.Join(unique(names), ", ")
}

func unique(list []string) []string {
	var out []string
	for _, s := range list {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
