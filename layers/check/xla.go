//go:build cgo && (linux || darwin) && !noxla

package check

import "github.com/gomlx/go-xla/compute/xla" // XLA, where a plugin is installed

func init() { xla.EnableAutoInstall(false) } // a test downloads nothing
