package backend

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// chooser holds what a choice depends on, so that tests can fake the machine.
type chooser struct {
	getenv  func(string) string
	plugins func() []Plugin    // every plugin found, best first within a platform
	load    func(Plugin) error // nil if the plugin can be used
	gpu     func() bool        // an NVIDIA device is visible
	hidden  func() string      // that the environment hides all of them; "" if it does not
	lost    func() []string    // what is wrong with where the environment says that plugins are
}

func newChooser() *chooser {
	return &chooser{
		getenv:  os.Getenv,
		plugins: newFinder().find,
		load:    func(p Plugin) error { _, err := load(p.Path); return err },
		gpu:     nvidiaVisible,
		hidden:  hiddenHere,
		lost:    newFinder().lost,
	}
}

func (ch *chooser) choose(request string) (Choice, error) {
	why := "asked for"
	if request == "" {
		if request = ch.getenv(EnvVar); request != "" {
			why = EnvVar + "=" + request
		}
	}
	name, rest, _ := strings.Cut(request, ":")
	switch name {
	case "", "auto":
		if rest != "" {
			return Choice{}, fmt.Errorf("backend %q: auto takes no options", request)
		}
		return ch.auto(), nil
	case "go":
		return chooseGo(rest, why), nil
	case "xla", "stablehlo", "hlo", "shlo": // GoMLX's aliases of xla
		return ch.chooseXLA(request, rest, why)
	}
	return Choice{}, fmt.Errorf("unknown backend %q (known: %s)", request, known(ch.plugins()))
}

func (ch *chooser) chooseXLA(request, rest, why string) (Choice, error) {
	name, options, _ := strings.Cut(rest, ",")
	if err := checkOptions(options); err != nil {
		return Choice{}, fmt.Errorf("backend %q: %w", request, err)
	}
	var candidates []Plugin
	all := ch.plugins()
	if filepath.IsAbs(name) {
		if !exists(name) {
			return Choice{}, fmt.Errorf("backend %q: there is no file %s", request, name)
		}
		candidates = []Plugin{describe(name, "asked for")}
	} else {
		for _, platform := range []string{"cuda", "cpu"} {
			if name == platform || name == "" && (platform == "cpu" || ch.gpu()) {
				candidates = append(candidates, only(all, platform)...)
			}
		}
		if name != "" && len(candidates) == 0 {
			candidates = only(all, name)
		}
	}
	if len(candidates) == 0 {
		switch name {
		case "", "cpu", "cuda":
			missed := strings.Join(append([]string{"no XLA plugin was found"}, ch.lost()...), "; ")
			return Choice{}, fmt.Errorf("backend %q: %s; install one: %s", request, missed, install(name))
		}
		return Choice{}, fmt.Errorf("backend %q: unknown plugin %q (known: %s)", request, name, known(all))
	}
	if hidden := ch.hidden(); candidates[0].Platform == "cuda" && hidden != "" {
		return Choice{}, fmt.Errorf("backend %q: %s", request, hidden)
	}
	c, failures := ch.first(candidates)
	if c.Plugin.Path == "" {
		return Choice{}, fmt.Errorf("backend %q: %s", request, failures[0])
	}
	c.Why, c.Warnings = why, append(ch.lost(), failures...)
	if !filepath.IsAbs(name) {
		name = c.Plugin.Platform
	}
	c.Config, c.auto = xlaConfig(name, c.Plugin.Platform, options), false
	return c, nil
}

// auto prefers an NVIDIA device to XLA on the CPU, and that to pure Go.
func (ch *chooser) auto() Choice {
	all, gpu := ch.plugins(), ch.gpu()
	lost := ch.lost()
	failures := lost
	if cuda := only(all, "cuda"); gpu {
		c, warnings := ch.first(cuda)
		failures = append(failures, warnings...)
		if c.Plugin.Path != "" {
			c.Why, c.Warnings = "an NVIDIA device and XLA's plugin for it were found", failures
			return c
		}
		if len(cuda) == 0 {
			failures = append(failures, "an NVIDIA device was found, but no XLA plugin for it; install one: "+install("cuda"))
		}
	}
	cpu := only(all, "cpu")
	c, warnings := ch.first(cpu)
	failures = append(failures, warnings...)
	if c.Plugin.Path != "" {
		c.Why, c.Warnings = "XLA's plugin for CPUs was found", failures
		return c
	}
	why := "no XLA plugin was found"
	if len(all) > 0 {
		why = "no XLA plugin for this machine was found"
	}
	if len(failures) > len(lost) {
		why = "no XLA plugin can be used"
	}
	return Choice{Config: PureGo, Platform: "go", Why: why, Warnings: failures, auto: true}
}

// first returns the first plugin that loads, and what is wrong with those before.
func (ch *chooser) first(plugins []Plugin) (c Choice, failures []string) {
	for _, p := range plugins {
		if err := ch.load(p); err != nil {
			failures = append(failures, fmt.Sprintf("%s cannot be used: %s; %s", p.Path, oneLine(err), remedy(p, err)))
			continue
		}
		return Choice{Config: xlaConfig(p.Platform, p.Platform, ""), Platform: "xla:" + p.Platform, Plugin: p, auto: true}, failures
	}
	return Choice{}, failures
}
