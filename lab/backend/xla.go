//go:build cgo && (linux || darwin) && !noxla

package backend

/*
#cgo linux LDFLAGS: -ldl
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

// The head of PJRT's table of functions. The table is append-only, and its first
// five words say how long it is and which version it has.
typedef struct {
	size_t size;
	void *extensions;
	size_t version_size;
	void *version_extensions;
	int major, minor;
} pjrt_head;

static pjrt_head *pjrt_load(const char *path, const char **problem) {
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		*problem = dlerror();
		return NULL;
	}
	pjrt_head *(*get)(void) = (pjrt_head *(*)(void))dlsym(library, "GetPjrtApi");
	if (!get) {
		*problem = "it has no GetPjrtApi";
		return NULL;
	}
	pjrt_head *api = get();
	if (!api) *problem = "GetPjrtApi returned nothing";
	return api;
}
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/pjrt"

	"github.com/kalmarz/kalmarz/layers/kernels"
)

func init() { xla.EnableAutoInstall(false) }

// loaded is a plugin in memory.
type loaded struct {
	api uintptr // PJRT's table of functions
	version
	err error
}

var (
	loading    sync.Mutex
	inMemory   = map[string]loaded{} // by path; a library is never unloaded
	registered = map[string]string{} // path by platform
	hooked     = map[string]bool{}   // by platform: fused kernels can run
)

// load brings a plugin into memory and checks its version. It makes no client, so
// no device is touched.
func load(path string) (loaded, error) {
	loading.Lock()
	defer loading.Unlock()
	if l, found := inMemory[path]; found {
		return l, l.err
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var problem *C.char
	var l loaded
	if head := C.pjrt_load(name, &problem); head == nil {
		l.err = errors.New(strings.ReplaceAll(C.GoString(problem), path+": ", ""))
	} else {
		l = loaded{api: uintptr(unsafe.Pointer(head)), version: version{int(head.major), int(head.minor)}}
		l.err = l.usable(int(head.size))
	}
	inMemory[path] = l
	return l, l.err
}

// openXLA registers the plugin and makes its client.
//
// The name it registers looks like an absolute path: go-xla looks any other name
// up by loading every plugin in its folders, keeps that first list for the life
// of the process, and crashes on one that does not load. It also reads "cpu" and
// "cuda" out of the name, so a real path with such a word in a folder's name
// would mislead it.
func openXLA(c Choice) (be compute.Backend, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
		if err != nil {
			be, err = nil, errors.New(strings.TrimSuffix(unwrap(oneLine(err)), "."))
		}
	}()
	l, err := load(c.Plugin.Path)
	if err != nil {
		return nil, err
	}
	loading.Lock()
	defer loading.Unlock()
	name := "/" + c.Plugin.Platform
	switch registered[name] {
	case c.Plugin.Path:
	case "":
		api := l.api
		if c.Plugin.Platform == "cuda" {
			if kernelsOff() == "" && l.noKernels() == "" {
				if table := hook(api); table != 0 {
					api, hooked[name] = table, true
				}
			}
			full := strings.Contains(c.Config, "tf32=false")
			os.Setenv("XLA_FLAGS", cudaFlags(os.Getenv("XLA_FLAGS"), c.Plugin.Libraries, full))
		}
		if err := pjrt.RegisterPreloadedPlugin(name, api); err != nil {
			return nil, err
		}
		registered[name] = c.Plugin.Path
	default:
		return nil, fmt.Errorf("this process already uses %s", registered[name])
	}
	_, options, _ := strings.Cut(c.Config, ",")
	be, err = xla.New(strings.TrimSuffix(name+","+options, ","))
	if err == nil && hooked[name] {
		kernels.Use(be, kernels.Call)
	}
	return be, err
}
