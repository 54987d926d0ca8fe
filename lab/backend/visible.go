package backend

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// hiddenDevices says that CUDA_VISIBLE_DEVICES leaves a process no NVIDIA device;
// "" if it does not.
func hiddenDevices(value string, set bool) string {
	if v := strings.TrimSpace(value); set && (v == "" || strings.HasPrefix(v, "-1")) {
		return fmt.Sprintf("CUDA_VISIBLE_DEVICES=%q hides NVIDIA's devices: unset it, or name one, as 0", value)
	}
	return ""
}

func hiddenHere() string { return hiddenDevices(os.LookupEnv("CUDA_VISIBLE_DEVICES")) }

// noDeviceHere says why this process has no NVIDIA device, and what helps.
func noDeviceHere() string {
	if hidden := hiddenHere(); hidden != "" {
		return hidden
	}
	return noDeviceAmong(vendors("/sys/class/drm"))
}

// noDeviceAmong says it by the makers of the graphics cards that there are.
func noDeviceAmong(makers []string) string {
	switch {
	case slices.Contains(makers, "NVIDIA"):
		return "an NVIDIA device without its driver: install NVIDIA's driver"
	case len(makers) > 0:
		return fmt.Sprintf("no NVIDIA device, but one of %s, which no plugin here is for: take xla:cpu or go", strings.Join(makers, " and of "))
	}
	return "no NVIDIA device: take xla:cpu or go"
}

// vendors lists the makers of the graphics cards that Linux shows in a folder.
func vendors(dir string) (makers []string) {
	files, _ := filepath.Glob(filepath.Join(dir, "card*", "device", "vendor"))
	for _, file := range files {
		id, _ := os.ReadFile(file)
		makers = append(makers, map[string]string{"0x10de": "NVIDIA", "0x1002": "AMD", "0x8086": "Intel"}[strings.TrimSpace(string(id))])
	}
	return unique(makers)
}

// leastDriver is the first branch of NVIDIA's drivers that runs the programs of a
// CUDA, by its major version.
var leastDriver = map[string]int{"12": 525, "13": 580}

var (
	cudaName   = regexp.MustCompile(`cuda(\d+)`)
	driverName = regexp.MustCompile(`, driver (\d+)(\.\S+)?$`)
)

// driverTooOld says that the driver of one of the devices, as nvidiaDevices lists
// them, is older than the plugin's CUDA needs; "" if it is not, or nobody knows.
func (p Plugin) driverTooOld(devices []string) string {
	name := cudaName.FindStringSubmatch(p.Package + " " + filepath.Base(filepath.Dir(p.Path)))
	if name == nil || p.Platform != "cuda" {
		return ""
	}
	for _, device := range devices {
		m := driverName.FindStringSubmatch(device)
		if m == nil {
			continue
		}
		if branch, err := strconv.Atoi(m[1]); err == nil && branch < leastDriver[name[1]] {
			return fmt.Sprintf("driver %s%s is too old for the plugin's CUDA %s, which needs %d or later", m[1], m[2], name[1], leastDriver[name[1]])
		}
	}
	return ""
}
