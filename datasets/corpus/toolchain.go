package corpus

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// A book of the corpus prose, with the start of the SHA-256 of its text.
var books = []struct{ module, path, sum string }{
	{"", "src/testdata/Isaac.Newton-Opticks.txt", "d4a9ac22"},
	{booksModule, "testdata/Mark.Twain-Tom.Sawyer.txt.gz", "461eb7cb"},
	{booksModule, "testdata/pg1661.txt.gz", "242ec73a"},
}

// booksModule holds two books as test data; reading parquet needs it too.
const booksModule = "github.com/pierrec/lz4/v4@v4.1.26"

// prose is three books in the public domain that come with the Go toolchain and
// a module: Opticks, Tom Sawyer, The Adventures of Sherlock Holmes. It is the
// same 1.5 MB everywhere.
func prose() (*Corpus, error) {
	root, err := goEnv("GOROOT")
	if err != nil {
		return nil, err
	}
	module := ""
	c := &Corpus{Note: "three books of the public domain"}
	for _, b := range books {
		folder := root
		if b.module != "" {
			if module == "" {
				if module, err = moduleFolder(b.module); err != nil {
					return nil, err
				}
			}
			folder = module
		}
		path := filepath.Join(folder, filepath.FromSlash(b.path))
		if err := checkSum(path, b.sum); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		c.files = append(c.files, file{name: path, clean: cleanBook})
		c.Identity += b.sum + "\n"
	}
	return c, nil
}

// checkSum reads a file's text and compares the start of its SHA-256.
func checkSum(path, want string) error {
	in, err := decompress(path, path)
	if err != nil {
		return err
	}
	defer in.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, in); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)[:4]); got != want {
		return fmt.Errorf("SHA-256 of the text starts with %s: must be %s", got, want)
	}
	return nil
}

// cleanBook drops carriage returns and what Project Gutenberg put around a book.
func cleanBook(text []byte) []byte {
	text = bytes.ReplaceAll(text, []byte("\r"), nil)
	if start := bytes.Index(text, []byte("*** START OF")); start >= 0 {
		text = text[start:]
		text = text[bytes.Index(text, newline)+1:]
	}
	if end := bytes.Index(text, []byte("*** END OF")); end >= 0 {
		text = text[:end]
	}
	return text
}

// gosrc is the source of Go's standard library without commands, vendored code,
// tests and generated files: about 17 MB, which change with Go's version.
func gosrc() (*Corpus, error) {
	root, err := goEnv("GOROOT")
	if err != nil {
		return nil, err
	}
	version, err := goEnv("GOVERSION")
	if err != nil {
		return nil, err
	}
	c := &Corpus{Note: "source of the standard library of " + version, Identity: "gosrc " + version + "\n"}
	src := filepath.Join(root, "src")
	err = filepath.WalkDir(src, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if name == "vendor" || name == "testdata" || path == filepath.Join(src, "cmd") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		info, err := entry.Info()
		if err != nil || info.Size() > 200_000 {
			return err
		}
		made, err := generated(path)
		if err == nil && !made {
			c.files = append(c.files, file{name: path})
		}
		return err
	})
	if err == nil && len(c.files) == 0 {
		err = fmt.Errorf("no source of Go in %s", src)
	}
	sort.Slice(c.files, func(i, j int) bool { return c.files[i].name < c.files[j].name })
	return c, err
}

var generatedMark = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// generated tells whether a file has the mark before its package clause.
func generated(path string) (bool, error) {
	text, err := os.ReadFile(path)
	if clause := bytes.Index(text, []byte("\npackage ")); clause >= 0 {
		text = text[:clause+1]
	}
	return generatedMark.Match(text), err
}

func goEnv(name string) (string, error) {
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		return "", fmt.Errorf("go env %s: %w: this corpus comes with the Go toolchain, which must be in PATH", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// moduleFolder is where a module lies in Go's cache.
func moduleFolder(module string) (string, error) {
	cache, err := goEnv("GOMODCACHE")
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, filepath.FromSlash(module))
	if _, err := os.Stat(filepath.Join(folder, "testdata")); err != nil {
		return "", fmt.Errorf("two of its books are test data of a module that is not in Go's module cache: run go mod download %s", module)
	}
	return folder, nil
}
