package backend

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The variable and the folders that go-xla, too, looks into for plugins.
const pluginPathVar = "PJRT_PLUGIN_LIBRARY_PATH"

var systemFolders = []string{"/usr/local/lib/go-xla", "/usr/local/lib/go-xla/nvidia", "/usr/local/lib/gomlx/pjrt"}

// finder looks for plugins; its fields are what tests fake.
type finder struct {
	getenv func(string) string
	home   string
	work   string // the working folder, where .venv may be
	system []string
	ldConf string // the loader's list of folders
	python func() python
}

func newFinder() *finder {
	home, _ := os.UserHomeDir()
	work, _ := os.Getwd()
	return &finder{getenv: os.Getenv, home: home, work: work, system: systemFolders,
		ldConf: "/etc/ld.so.conf", python: askPython}
}

// find lists every plugin: of PJRT_PLUGIN_LIBRARY_PATH, of a Python environment
// that is active or in the working folder, of go-xla's folders, of python3, and
// of the loader's. A file that is reached twice is listed once.
func (f *finder) find() []Plugin {
	var plugins []Plugin
	var seen []string
	add := func(path, source string) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || platformOf(path) == "" || slices.Contains(seen, real) {
			return
		}
		seen = append(seen, real)
		plugins = append(plugins, describe(path, source))
	}
	folders := func(source string, dirs ...string) {
		for _, dir := range dirs {
			if !filepath.IsAbs(dir) {
				continue
			}
			found, _ := filepath.Glob(filepath.Join(dir, "pjrt*"))
			for _, path := range found {
				add(path, source)
			}
		}
	}
	sites := func(source string, dirs ...string) {
		for _, dir := range dirs {
			add(filepath.Join(dir, "lammps_jax_pjrt_cpu", "pjrt_c_api_cpu_plugin.so"), source)
			found, _ := filepath.Glob(filepath.Join(dir, "jax_plugins", "xla_cuda*", "xla_cuda_plugin.so"))
			slices.Reverse(found) // cuda13 before cuda12
			for _, path := range found {
				add(path, source)
			}
		}
	}
	folders(pluginPathVar, filepath.SplitList(f.getenv(pluginPathVar))...)
	if env := f.getenv("VIRTUAL_ENV"); env != "" {
		sites("VIRTUAL_ENV", venvSites(env)...)
	}
	sites(".venv", venvSites(filepath.Join(f.work, ".venv"))...)
	if f.home != "" {
		own := filepath.Join(f.home, ".local", "lib")
		folders("go-xla's folders", filepath.Join(own, "go-xla"), filepath.Join(own, "go-xla", "nvidia"), filepath.Join(own, "gomlx", "pjrt"))
	}
	folders("go-xla's folders", f.system...)
	sites("python3's site-packages", f.python().Sites...)
	folders("LD_LIBRARY_PATH", filepath.SplitList(f.getenv("LD_LIBRARY_PATH"))...)
	folders(f.ldConf, loaderFolders(f.ldConf, 4)...)
	return plugins
}

// lost says what is wrong with what PJRT_PLUGIN_LIBRARY_PATH names, a line for each
// of its folders that holds no plugin.
func (f *finder) lost() (lines []string) {
	for _, dir := range filepath.SplitList(f.getenv(pluginPathVar)) {
		info, err := os.Stat(dir)
		problem := ""
		switch {
		case dir == "":
		case !filepath.IsAbs(dir):
			problem = "must be an absolute path"
		case err != nil:
			problem = "there is no such folder"
		case !info.IsDir():
			problem = "is a file: name its folder"
		default:
			found, _ := filepath.Glob(filepath.Join(dir, "pjrt*"))
			if !slices.ContainsFunc(found, func(path string) bool { return platformOf(path) != "" }) {
				problem = "it holds no plugin, pjrt_c_api_cpu_plugin.so or of another platform"
			}
		}
		if problem != "" {
			lines = append(lines, fmt.Sprintf("%s names %s: %s", pluginPathVar, dir, problem))
		}
	}
	return lines
}

// venvSites are the package folders of a Python environment.
func venvSites(env string) []string {
	found, _ := filepath.Glob(filepath.Join(env, "lib*", "python3*", "site-packages"))
	return found
}

// loaderFolders reads the folders that an ld.so.conf names, following includes.
func loaderFolders(conf string, depth int) []string {
	file, err := os.Open(conf)
	if err != nil || depth == 0 {
		return nil
	}
	defer file.Close()
	var dirs []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(line)
		switch {
		case len(words) == 2 && words[0] == "include":
			pattern := words[1]
			if !filepath.IsAbs(pattern) {
				pattern = filepath.Join(filepath.Dir(conf), pattern)
			}
			included, _ := filepath.Glob(pattern)
			for _, path := range included {
				dirs = append(dirs, loaderFolders(path, depth-1)...)
			}
		case len(words) == 1:
			dirs = append(dirs, words[0])
		}
	}
	return dirs
}
