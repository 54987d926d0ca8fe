package backend

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// versions are those of the program, Go, and the libraries that compute.
func versions() []string {
	list := []string{"kalmarz unknown", "go " + strings.TrimPrefix(runtime.Version(), "go")}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return list
	}
	list[0] = "kalmarz " + info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			list[0] += " " + s.Value[:min(len(s.Value), 12)]
		}
	}
	for _, dep := range info.Deps {
		switch dep.Path {
		case "github.com/gomlx/gomlx", "github.com/gomlx/compute", "github.com/gomlx/go-xla":
			list = append(list, dep.Path[strings.LastIndex(dep.Path, "/")+1:]+" "+dep.Version)
		}
	}
	return list
}

// memory is the machine's, where Linux tells it.
func memory() string {
	text, _ := os.ReadFile("/proc/meminfo")
	var kib float64
	if _, err := fmt.Sscanf(string(text), "MemTotal: %f kB", &kib); err != nil {
		return "memory unknown"
	}
	return fmt.Sprintf("%.1f GiB of memory", kib/(1<<20))
}
