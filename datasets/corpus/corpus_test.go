package corpus

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
)

func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func packed(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	z.Close()
	return b.String()
}

func zstded(text string) string {
	var b bytes.Buffer
	z, _ := zstd.NewWriter(&b)
	io.WriteString(z, text)
	z.Close()
	return b.String()
}

func tabled[T any](rows []T) string {
	var b bytes.Buffer
	if err := parquet.Write(&b, rows); err != nil {
		panic(err)
	}
	return b.String()
}

type page struct {
	URL  string `parquet:"url"`
	Text string `parquet:"text"`
}

// documents reads a corpus into strings.
func documents(c *Corpus) (all []string, err error) {
	var text strings.Builder
	for piece, err := range c.Pieces() {
		if err != nil {
			return all, err
		}
		text.Write(piece.Text)
		if piece.Last {
			all = append(all, text.String())
			text.Reset()
		}
	}
	return all, nil
}

func read(t testing.TB, path string, o Options) ([]string, Skipped, error) {
	t.Helper()
	c, err := Open(path, o)
	if err != nil {
		return nil, Skipped{}, err
	}
	all, err := documents(c)
	return all, c.Skipped(), err
}

func TestFormats(t *testing.T) {
	lines := `{"text":"one\ntwo","id":7}` + "\n\n" + `{"id":8,"text":"döner \ud83e\udd59"}`
	want := []string{"one\ntwo", "döner 🥙"}
	long := strings.Repeat("x", 3<<20)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"a.txt", "one\ntwo", []string{"one\ntwo"}},
		{"a.txt", "\ufeffone", []string{"one"}},
		{"a.txt.gz", packed("one\ntwo"), []string{"one\ntwo"}},
		{"a.txt.zst", zstded("one\ntwo"), []string{"one\ntwo"}},
		{"a.jsonl", lines, want},
		{"a.jsonl.gz", packed(lines), want},
		{"a.jsonl.zst", zstded(lines), want},
		{"a.jsonl", `{"text":"` + long + `"}`, []string{long}},
		{"a.parquet", tabled([]page{{"u", "one\ntwo"}, {"v", ""}, {"w", "döner 🥙"}}), want},
	} {
		got, _, err := read(t, write(t, c.name, c.text), Options{})
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %.80q, %v, want %.80q", c.name, got, err, c.want)
		}
	}
}

func TestFieldAndLimit(t *testing.T) {
	path := write(t, "a.jsonl", `{"body":"abcdef"}`+"\n"+`{"body":"gh"}`)
	for _, c := range []struct {
		limit int64
		want  []string
	}{{0, []string{"abcdef", "gh"}}, {7, []string{"abcdef", "g"}}, {3, []string{"abc"}}} {
		got, _, err := read(t, path, Options{Field: "body", Limit: c.limit})
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("limit %d: %q, %v", c.limit, got, err)
		}
	}
	got, _, err := read(t, write(t, "a.parquet", tabled([]page{{"u", "one"}})), Options{Field: "url"})
	if err != nil || !slices.Equal(got, []string{"u"}) {
		t.Errorf("column url: %q, %v", got, err)
	}
}

func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"b.txt": "2", "a/x.jsonl": `{"text":"1"}`, "c.parquet": tabled([]page{{"", "3"}}), "notes.md": "no"} {
		path := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(path), 0o700)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, _, err := read(t, dir, Options{})
	if err != nil || !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("%q, %v", got, err)
	}
}

// Each error names file and line; with SkipBad the rest is read, and what was
// passed over is counted and named.
func TestBadInput(t *testing.T) {
	cut := func(s string, n int) string { return s[:len(s)-n] }
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "{\"text\":\"%d %d\"}\n", i, i*i*7919%1000)
		}
		return b.String()
	}
	for _, c := range []struct {
		name, text string
		want       string // after the folder
		kept       int    // documents with SkipBad; -1: an error all the same
	}{
		{"a.txt", "", "a.txt: empty file", -1},
		{"a.txt.gz", "", "a.txt.gz: empty file", -1},
		{"a.txt", "one\ntwo \xff\nthree", "a.txt:2: broken UTF-8 at byte 5 of the line", 1},
		{"a.jsonl", "", "a.jsonl: empty file", -1},
		{"a.jsonl", "{\"text\":\"1\"}\nhello\n{\"text\":\"2\"}", "a.jsonl:2: no JSON object: invalid character 'h' looking for beginning of value", 2},
		{"a.jsonl", "{\"text\":\"1\"}\n[1]", "a.jsonl:2: no JSON object: cannot unmarshal array", 1},
		{"a.jsonl", "{\"text\":\"1\"}\n{\"text\":\"2", "a.jsonl:2: no JSON object: unexpected end of JSON input", 1},
		{"a.jsonl", "{\"text\":\"1\"}\n{\"body\":\"2\",\"id\":3}", "a.jsonl:2: no field text: has body, id", 1},
		{"a.jsonl", "{\"text\":\"1\"}\n{\"text\":3}", "a.jsonl:2: field text is no text", 1},
		{"a.jsonl", "{\"text\":\"\xff\"}\n{\"text\":\"2\"}", "a.jsonl:1: broken UTF-8", 1},
		{"a.jsonl.gz", cut(packed(many(20000)), 20), "a.jsonl.gz:", 19000},
		{"a.jsonl.zst", cut(zstded(many(200000)), 20), "a.jsonl.zst:", 10000},
		{"a.jsonl.gz", "plain", "a.jsonl.gz: ", -1},
		{"a.jsonl.zst", "plain text", "a.jsonl.zst:1: damaged here: ", -1},
		{"a.parquet", "plain text, no parquet", "a.parquet: no parquet file: ", -1},
		{"a.parquet", tabled([]struct{ Body string }{{"x"}}), "a.parquet: no column text: has Body", -1},
		{"a.parquet", tabled([]struct {
			Text int64 `parquet:"text"`
		}{{3}}), "a.parquet: column text holds INT(64,true): must be text", -1},
		{"a.parquet", tabled([]page{}), "a.parquet: no rows", -1},
		{"a.parquet", tabled([]page{{"u", "one"}, {"v", "\xff"}, {"w", "two"}}), "a.parquet:2: broken UTF-8 in this row", 2},
	} {
		path := write(t, c.name, c.text)
		_, _, err := read(t, path, Options{})
		want := filepath.Join(filepath.Dir(path), c.want)
		if strings.HasSuffix(c.want, " ") {
			want += " "
		}
		if err == nil || !strings.HasPrefix(err.Error(), strings.TrimSuffix(want, " ")) {
			t.Errorf("%s: error %v, want %s", c.name, err, want)
		}
		if strings.Contains(c.want, ".jsonl.") && c.kept > 0 && !strings.Contains(fmt.Sprint(err), "truncated here: ") {
			t.Errorf("%s: error %v says nothing of a truncation", c.name, err)
		}
		got, skipped, err := read(t, path, Options{SkipBad: true})
		switch {
		case c.kept < 0:
			if err == nil || !strings.Contains(err.Error(), "no text in it") {
				t.Errorf("%s, skipping: error %v", c.name, err)
			}
		case err != nil || len(got) < c.kept || c.kept < 100 && len(got) != c.kept:
			t.Errorf("%s, skipping: %d documents, %v, want %d", c.name, len(got), err, c.kept)
		}
		if skipped.Count == 0 && c.kept > 0 || skipped.Count > 0 && !strings.HasPrefix(skipped.Named[0], strings.TrimSuffix(want, " ")) {
			t.Errorf("%s, skipping: %+v", c.name, skipped)
		}
	}
}

func TestBadSpecs(t *testing.T) {
	dir := t.TempDir()
	for spec, want := range map[string]string{
		filepath.Join(dir, "none.txt"): "no such file or directory",
		dir:                            "no file in it ends in .txt, .txt.gz",
		write(t, "a.pdf", "x"):         "unknown format: the name must end in .txt",
		"hf:me":                        "must be hf:OWNER/NAME",
		"hf:a/b:c:d:e":                 "must be hf:OWNER/NAME",
	} {
		_, err := Open(spec, Options{})
		if err == nil || !strings.HasPrefix(err.Error(), "corpus "+spec+": "+want) {
			t.Errorf("%s: error %v, want %s", spec, err, want)
		}
	}
}

// A long text comes in pieces that are cut where its tokens end, and that
// together are the text.
func TestPieces(t *testing.T) {
	text := strings.Repeat("Ein Satz mit Wörtern.\n\n  Noch einer\nund mehr ", 100_000)
	c, err := Open(write(t, "a.txt", text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	pieces, lasts := 0, 0
	for p, err := range c.Pieces() {
		if err != nil {
			t.Fatal(err)
		}
		all.Write(p.Text)
		pieces++
		if p.Last {
			lasts++
		} else if s := string(p.Text); !strings.HasSuffix(s, "einer\n") {
			t.Errorf("a piece ends in %q", s[len(s)-20:])
		}
	}
	if all.String() != text || pieces < 5 || lasts != 1 {
		t.Errorf("%d pieces, %d documents, %d of %d bytes", pieces, lasts, all.Len(), len(text))
	}
	unbroken := strings.Repeat("ö", 2<<20)
	got, _, err := read(t, write(t, "b.txt", unbroken), Options{})
	if err != nil || len(got) != 1 || got[0] != unbroken {
		t.Errorf("a text without line ends: %d documents, %v", len(got), err)
	}
}

func TestMeasure(t *testing.T) {
	c, err := Open(write(t, "a.txt", strings.Repeat("ab", 5000)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Measure(c, true)
	if err != nil {
		t.Fatal(err)
	}
	if s.Bytes != 10000 || s.Documents != 1 || s.Distinct != 2 || math.Abs(s.H0-1) > 1e-9 || s.H1 > 1e-9 || s.Gzip <= 0 || s.Gzip > 0.1 {
		t.Errorf("%+v", s)
	}
}

// What the toolchain brings along has the statistics measured elsewhere.
func TestToolchainCorpora(t *testing.T) {
	for _, c := range []struct {
		name              string
		files, distinct   int
		megabytes, h0, h1 float64
		gzip              float64
		version           string // of Go, for which the numbers hold
	}{
		{"prose", 3, 99, 1.52, 4.55, 3.56, 2.86, ""},
		{"gosrc", 2509, 173, 16.79, 5.24, 4.04, 2.07, "go1.26.8"},
	} {
		corpus, err := Open(c.name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Measure(corpus, c.name == "prose")
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %+v", c.name, s)
		if !strings.HasPrefix(runtime.Version(), c.version) {
			continue
		}
		near := func(a, b, margin float64) bool { return math.Abs(a-b) <= margin }
		if s.Files != c.files || s.Distinct != c.distinct || !near(float64(s.Bytes)/1e6, c.megabytes, 0.05) ||
			!near(s.H0, c.h0, 0.006) || !near(s.H1, c.h1, 0.006) || s.Gzip != 0 && !near(s.Gzip, c.gzip, 0.006) {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

// Reading prose as bytes: at least 50 MB/s is asked for.
func BenchmarkRead(b *testing.B) {
	c, err := Open("gosrc", Options{})
	if err != nil {
		b.Fatal(err)
	}
	for range b.N {
		n := int64(0)
		for p, err := range c.Pieces() {
			if err != nil {
				b.Fatal(err)
			}
			n += int64(len(p.Text))
		}
		b.SetBytes(n)
	}
}

// Memory does not grow with the corpus.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 88 MB")
	}
	path := filepath.Join(t.TempDir(), "large.jsonl.zst")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(f)
	if err != nil {
		t.Fatal(err)
	}
	line := []byte(`{"text":"` + strings.Repeat("a line of some length ", 100) + "\"}\n")
	for range 40_000 { // 88 MB
		z.Write(line)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	c, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	most, documents, text := uint64(0), 0, int64(0)
	for p, err := range c.Pieces() {
		if err != nil {
			t.Fatal(err)
		}
		text += int64(len(p.Text))
		if documents++; documents%4000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
		}
	}
	if grown := int64(most) - int64(before.HeapAlloc); documents != 40_000 || text != 88_000_000 || grown > 24<<20 {
		t.Errorf("%d documents, %d bytes, %d more bytes on the heap", documents, text, grown)
	}
}
