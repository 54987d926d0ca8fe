package backend

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Plugin is a shared library that brings XLA's compiler for one platform, behind
// the PJRT C API.
type Plugin struct {
	Platform  string // cpu, cuda, or what the file's name says
	Path      string
	Source    string // how it was found: a variable's name, "python3's site-packages", ...
	Package   string // Python package and version, if it came with one
	Libraries string // the folder of CUDA's own libraries beside it, "" if there is none
}

var (
	// The names that go-xla knows, with an optional version: pjrt_c_api_cpu_v0.114.0_plugin.so.
	goXLAName = regexp.MustCompile(`^(?:pjrt_c_api_(.+?)(?:_v[0-9.]+)?_plugin|pjrt[-_]plugin[-_](.+?)(?:_v[0-9.]+)?)\.(?:so|dylib)$`)
	// JAX's Python packages.
	jaxName = regexp.MustCompile(`^xla_(cuda)_plugin\.so$`)
)

// platformOf reads the platform from a file's name; "" if it is no plugin's.
func platformOf(path string) string {
	for _, re := range []*regexp.Regexp{goXLAName, jaxName} {
		if m := re.FindStringSubmatch(filepath.Base(path)); m != nil {
			return strings.Join(m[1:], "")
		}
	}
	return ""
}

// describe fills in what the file system says about a plugin.
func describe(path, source string) Plugin {
	p := Plugin{Platform: platformOf(path), Path: path, Source: source}
	if p.Platform == "" {
		p.Platform = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	dir := filepath.Dir(path)
	p.Package = packageOf(dir)
	if p.Platform != "cuda" {
		return p
	}
	// The plugin's own search path: $ORIGIN/../nvidia and $ORIGIN/../../nvidia.
	for _, up := range []string{"..", "../.."} {
		if libraries := filepath.Join(dir, up, "nvidia"); exists(libraries) {
			p.Libraries = libraries
			break
		}
	}
	return p
}

// packageOf names the Python package whose folder this is. Packages leave a
// folder NAME-VERSION.dist-info in site-packages; JAX's are called
// jax_cuda13_pjrt and live in jax_plugins/xla_cuda13.
func packageOf(dir string) string {
	name, site := filepath.Base(dir), filepath.Dir(dir)
	if cuda, found := strings.CutPrefix(name, "xla_"); found {
		name, site = "jax_"+cuda+"_pjrt", filepath.Dir(site)
	}
	found, _ := filepath.Glob(filepath.Join(site, name+"-*.dist-info"))
	if len(found) == 0 {
		return ""
	}
	version := strings.TrimPrefix(filepath.Base(found[0]), name+"-")
	return strings.ReplaceAll(name, "_", "-") + " " + strings.TrimSuffix(version, ".dist-info")
}

// only keeps the plugins of one platform.
func only(plugins []Plugin, platform string) []Plugin {
	return slices.DeleteFunc(slices.Clone(plugins), func(p Plugin) bool { return p.Platform != platform })
}
