package check

import (
	"os"
	"sync"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend" // the pure-Go backend
)

// Backend returns the backend that tests run on: what GOMLX_BACKEND names, or
// else the pure-Go one in the configuration that cannot deadlock.
var Backend = sync.OnceValue(func() compute.Backend {
	config := os.Getenv("GOMLX_BACKEND")
	if config == "" || config == "go" {
		config = "go:parallelism=-1"
	}
	be, err := compute.NewWithConfig(config)
	if err != nil {
		panic(err)
	}
	return be
})

// Compiled tells that graphs are compiled, seconds each: tests then run fewer.
func Compiled() bool { return Backend().Name() != "Go Backend" }
