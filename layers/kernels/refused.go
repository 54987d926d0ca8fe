package kernels

import (
	"sync"
	"sync/atomic"

	"github.com/gomlx/compute"
)

var (
	refusals atomic.Int64
	watchers sync.Map // func(reason error) by backend
)

// Refused is called by whoever hands rewritten programs to a compiler, for one
// that it does not compile.
func Refused() { refusals.Add(1) }

// Watch names whom Attempt tells, once, that a backend's kernels are off from then
// on.
func Watch(be compute.Backend, told func(reason error)) { watchers.Store(be, told) }

// Attempt calls f, which builds graphs, has them compiled and may run them. If the
// compiler refuses a program because of its kernels, or seems to, the backend has
// none any more and f is called again, for the graph form: a compiler of another
// version, or another device, need not take what it took elsewhere.
func Attempt(be compute.Backend, f func() error) error {
	before := refusals.Load()
	err := f()
	if err == nil || !On(be) || refusals.Load() == before {
		return err
	}
	Forget(be)
	if told, ok := watchers.Load(be); ok {
		told.(func(error))(err)
	}
	return f()
}
