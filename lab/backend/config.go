package backend

import (
	"fmt"
	"slices"
	"strings"
)

// chooseGo keeps the given options and adds unlimited parallelism, unless they
// settle it themselves.
func chooseGo(options, why string) Choice {
	c := Choice{Config: "go:" + options, Platform: "go", Why: why}
	var settled bool
	for option := range strings.SplitSeq(options, ",") {
		key, value, _ := strings.Cut(option, "=")
		settled = settled || key == "parallelism" || key == "ops_sequential"
		if key == "parallelism" && value != "-1" && value != "0" {
			c.Warnings = append(c.Warnings, fmt.Sprintf("go:%s can deadlock: the worker pool is bounded; %s cannot", option, PureGo))
		}
	}
	if !settled {
		c.Config = strings.TrimSuffix(PureGo+","+strings.Trim(options, ","), ",")
	}
	return c
}

// xlaOptions are those of GoMLX's XLA backend; a truth value may also be denied,
// as in "notf32".
var xlaOptions = []string{"tf32", "shared_buffers", "preallocate", "memory_fraction", "allocator", "visible_devices", "use_tfrt_gpu_client"}

func checkOptions(options string) error {
	for option := range strings.SplitSeq(options, ",") {
		key, _, _ := strings.Cut(option, "=")
		if key != "" && !slices.Contains(xlaOptions, strings.TrimPrefix(key, "no")) {
			return fmt.Errorf("unknown option %q (known: %s)", key, strings.Join(xlaOptions, ", "))
		}
	}
	return nil
}

// xlaConfig adds the options. On NVIDIA devices GoMLX does float32 products in
// TF32, with 10 bits of mantissa, unless tf32=false makes it ask for the highest
// precision of every product. That is the default here; the request, or
// GOMLX_BACKEND, "xla:cuda,tf32=true" turns TF32 on.
func xlaConfig(name, platform, options string) string {
	config := "xla:" + name
	if options != "" {
		config += "," + options
	}
	if platform == "cuda" && !strings.Contains(options, "tf32") {
		config += ",tf32=false"
	}
	return config
}
