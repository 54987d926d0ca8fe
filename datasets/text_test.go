package datasets

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kalmarz/kalmarz/datasets/corpus"
	"github.com/kalmarz/kalmarz/datasets/token"
)

// The tests have a cache folder of their own.
func TestMain(m *testing.M) {
	cache, err := os.MkdirTemp("", "kalmarz-test-*")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_CACHE_HOME", cache)
	code := m.Run()
	os.RemoveAll(cache)
	os.Exit(code)
}

// lines writes a corpus of n documents and returns its path and its text, a byte
// 0 after each document.
func lines(t testing.TB, n int) (path, joined string) {
	var file, text strings.Builder
	for i := range n {
		document := fmt.Sprintf("document %d of %d: %s.", i, n, strings.Repeat("x", i%17))
		fmt.Fprintf(&file, "{\"text\": %q}\n", document)
		text.WriteString(document + "\x00")
	}
	path = filepath.Join(t.TempDir(), "lines.jsonl")
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, text.String()
}

// spell writes ids as text, with a byte 0 for a separator.
func spell(x *Text, ids []int32) string {
	var s strings.Builder
	for _, id := range ids {
		if id == x.tokens.Separator() {
			s.WriteByte(0)
		}
		s.WriteString(x.tokens.Bytes(id))
	}
	return s.String()
}

// The windows of the three splits, in order, are the corpus; each split starts
// with a document, and the parts are 90, 5 and 5 %.
func TestWindows(t *testing.T) {
	path, joined := lines(t, 5000)
	for _, tokens := range token.Names {
		x := open(t, "text", "corpus="+path+" len=32 tokens="+tokens).(*Text)
		var parts [3]string
		for _, split := range Splits {
			windows := x.info.Pool[split]
			b := batch(t, x, split, 1, 0, windows)
			rows := make([]string, windows)
			order := make([]int, windows)
			for row := range windows {
				in, target, _ := b.Row(row)
				if !slices.Equal(in[1:], target[:len(target)-1]) {
					t.Fatalf("%s row %d: targets are not the next tokens", split, row)
				}
				rows[row] = spell(x, in)
				order[row] = int(x.info.row(split, streamOf(x.info, split, 1), 0, windows, row))
			}
			sorted := make([]string, windows)
			for row, at := range order {
				sorted[at] = rows[row]
			}
			parts[split] = strings.Join(sorted, "")
			if split == Train && slices.IsSorted(order) || split != Train && !slices.IsSorted(order) {
				t.Errorf("%s: windows come in order %v", split, order[:8])
			}
			if !strings.HasPrefix(parts[split], "document ") {
				t.Errorf("%s starts with %.20q", split, parts[split])
			}
		}
		at := 0
		for _, split := range []Split{Train, Test, Validation} {
			start := strings.Index(joined, parts[split])
			if start < at || start > at+33*8 {
				t.Errorf("%s %s: starts at byte %d, after %d", tokens, split, start, at)
			}
			share := float64(len(parts[split])) / float64(len(joined))
			if want := map[Split]float64{Train: 0.9, Validation: 0.05, Test: 0.05}[split]; math.Abs(share-want) > 0.01 {
				t.Errorf("%s %s: %.3f of the text", tokens, split, share)
			}
			at = start + len(parts[split])
		}
	}
}

// A text read in pieces has the tokens of the whole.
func TestPiecesTokenizeAsTheWhole(t *testing.T) {
	c, err := corpus.Open("prose", corpus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var whole strings.Builder
	for p, err := range c.Pieces() {
		if err != nil {
			t.Fatal(err)
		}
		whole.Write(p.Text)
	}
	path := filepath.Join(t.TempDir(), "prose.txt")
	if err := os.WriteFile(path, []byte(whole.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	tok, err := token.New("gpt2")
	if err != nil {
		t.Fatal(err)
	}
	want, err := token.Encode(tok, whole.String())
	if err != nil {
		t.Fatal(err)
	}
	x := open(t, "text", "corpus="+path+" tokens=gpt2").(*Text)
	got := make([]int32, x.store.Tokens)
	if err := x.store.read(0, got, make([]byte, 2*len(got))); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, append(want, tok.Separator())) {
		t.Errorf("%d tokens in pieces, %d in one", len(got)-1, len(want))
	}
}

func TestBitsPerByte(t *testing.T) {
	path, joined := lines(t, 5000)
	bytes := open(t, "text", "corpus="+path).(*Text)
	var all, text int64
	for _, split := range Splits {
		n, b := bytes.Size(split)
		all += n
		text += b
	}
	if all != int64(len(joined)) || text != all-5000 || bytes.Documents() != 5000 {
		t.Errorf("%d tokens, %d bytes, %d documents: want %d, %d, 5000", all, text, bytes.Documents(), len(joined), len(joined)-5000)
	}
	// A uniform guess over 256 bytes costs 8 bits, of separators too.
	b := batch(t, bytes, Test, 1, 0, 9)
	ends := strings.Count(spell(bytes, b.Targets), "\x00")
	size := bytes.Bytes(b)
	if size != int64(9*b.T-ends) || ends == 0 {
		t.Errorf("%d bytes in %d tokens with %d separators", size, 9*b.T, ends)
	}
	if got, want := BitsPerByte(math.Log(256)*float64(9*b.T), size), 8*float64(9*b.T)/float64(size); math.Abs(got-want) > 1e-12 {
		t.Errorf("%g bits a byte, want %g", got, want)
	}
	clear(b.Mask[b.T:])
	if got := bytes.Bytes(b); got > int64(b.T) || got < 1 {
		t.Errorf("%d bytes in one row of %d", got, b.T)
	}
	if got := Perplexity(math.Log(256)); math.Abs(got-256) > 1e-9 {
		t.Errorf("perplexity %g, want 256", got)
	}
	// Another tokenizer counts the same bytes.
	bpe := open(t, "text", "corpus="+path+" tokens=gpt2").(*Text)
	var same int64
	for _, split := range Splits {
		_, b := bpe.Size(split)
		same += b
	}
	if same != text {
		t.Errorf("%d bytes by gpt2, %d by bytes", same, text)
	}
}

// A corpus too large for memory is kept in a file, found again by the next run,
// and made anew when the corpus changes.
func TestStoreFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.txt")
	fill := func(word string) {
		if err := os.WriteFile(path, []byte(strings.Repeat(word, inMemory/2/len(word)+1000)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	load := func() *Text {
		x := open(t, "text", "corpus="+path).(*Text)
		if _, ok := x.store.ids.(*os.File); !ok {
			t.Fatalf("%d tokens are kept in memory", x.store.Tokens)
		}
		return x
	}
	fill("first words ")
	made, found := load(), load()
	if !batch(t, made, Train, 1, 5, 8).equal(batch(t, found, Train, 1, 5, 8)) || fmt.Sprint(made.store.storeFacts) != fmt.Sprint(found.store.storeFacts) {
		t.Error("a store found again differs")
	}
	folder := filepath.Dir(made.store.ids.(*os.File).Name())
	fill("other text? ")
	if changed := load(); batch(t, made, Train, 1, 5, 8).equal(batch(t, changed, Train, 1, 5, 8)) {
		t.Error("a changed corpus has its old tokens")
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "partial-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	// A corpus that turns out bad leaves nothing.
	fill("bad \xff end ")
	if _, err := Open("text", given("corpus="+path)); err == nil || !strings.Contains(err.Error(), "large.txt:1: broken UTF-8 at byte 5") {
		t.Errorf("error %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "partial-*")); len(left) > 0 {
		t.Errorf("left behind by an error: %v", left)
	}
}

func TestTextErrors(t *testing.T) {
	path, _ := lines(t, 100)
	for options, want := range map[string]string{
		"corpus=" + path + " len=5000":       "task text: len = 5000: the train part of " + path + " has ",
		"corpus=/none.txt":                   "task text: corpus /none.txt: no such file or directory",
		"tokens=words":                       "task text: tokens = words: must be one of bytes, gpt2",
		"corpus=" + path + " field=body":     "task text: " + path + ":1: no field body: has text",
		"corpus=" + path + " limit=-1":       "task text: limit = -1: must be a whole number in [0, 999999]",
		"corpus=hf:nobody":                   "task text: corpus hf:nobody: must be hf:OWNER/NAME",
		"corpus=" + filepath.Dir(path) + "/": "",
	} {
		_, err := Open("text", given(options))
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", options, err)
			}
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", options, err, want)
		}
	}
}

// Megabytes a second of byte-level windows.
func BenchmarkText(b *testing.B) {
	for _, options := range []string{"", "preset=small"} {
		b.Run("text "+options, func(b *testing.B) {
			x := open(b, "text", options)
			b.ResetTimer()
			for i := range b.N {
				rows := batch(b, x, Train, 1, i, 32)
				b.SetBytes(int64(len(rows.Inputs)))
			}
		})
	}
}
