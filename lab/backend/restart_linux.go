//go:build goexperiment.simd && linux && amd64

package backend

import (
	"fmt"
	"os"
	"syscall"
)

const needsFMAOff = true

// restart goes through /proc, so that it works when the file has been removed or
// replaced since.
func restart(environ []string) error {
	if err := syscall.Exec("/proc/self/exe", os.Args, environ); err != nil {
		return fmt.Errorf("starting anew with GODEBUG=%s: %w (set it by hand)", fmaSetting, err)
	}
	return nil
}
