//go:build !cgo || !(linux || darwin) || noxla

package backend

import (
	"errors"

	"github.com/gomlx/compute"
)

var errNoXLA = errors.New("this program was built without XLA")

type loaded struct{ version }

func load(string) (loaded, error) { return loaded{}, errNoXLA }

func openXLA(Choice) (compute.Backend, error) { return nil, errNoXLA }
