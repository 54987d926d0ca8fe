package token

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestKnownIDs(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []int32
	}{
		{"bytes", "aé", []int32{97, 0xC3, 0xA9}},
		{"gpt2", "hello world.", []int32{31373, 995, 13}},
		{"gpt2", "", nil},
		{"gpt2", "<|endoftext|>", []int32{27, 91, 437, 1659, 5239, 91, 29}},
	} {
		tok, err := New(c.name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Encode(tok, c.text)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s %q: %v, %v, want %v", c.name, c.text, got, err, c.want)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	texts := []string{"", "  two  spaces\n\n\tand tabs ", "döner 🥙 Ελληνικά 中文", "\x00\u200b", strings.Repeat("ab ", 1000)}
	for _, name := range Names {
		tok, err := New(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			ids, err := Encode(tok, text)
			if err != nil {
				t.Fatal(err)
			}
			if got := Decode(tok, ids); got != text {
				t.Errorf("%s: %q became %q", name, text, got)
			}
			for _, id := range ids {
				if id < 0 || int(id) >= tok.Vocab() || id == tok.Separator() {
					t.Errorf("%s: %q has id %d", name, text, id)
				}
			}
		}
		if tok.Bytes(tok.Separator()) != "" {
			t.Errorf("%s: the separator is text", name)
		}
	}
}

func TestUnknown(t *testing.T) {
	if _, err := New("bpe"); err == nil || err.Error() != `tokenizer "bpe": known are bytes, gpt2` {
		t.Errorf("error %v", err)
	}
}

// A book of 567 kB is 147,297 ids to GPT-2.
func book(t testing.TB) string {
	text, err := os.ReadFile(filepath.Join(runtime.GOROOT(), "src/testdata/Isaac.Newton-Opticks.txt"))
	if err != nil {
		t.Skip(err)
	}
	return string(text)
}

func TestBook(t *testing.T) {
	tok, err := New("gpt2")
	if err != nil {
		t.Fatal(err)
	}
	text := book(t)
	ids, err := Encode(tok, text)
	if err != nil || len(ids) != 147297 || Decode(tok, ids) != text {
		t.Errorf("%d ids, %v, want 147297", len(ids), err)
	}
}

func BenchmarkEncode(b *testing.B) {
	text := book(b)
	for _, name := range Names {
		tok, err := New(name)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			var ids []int32
			for range b.N {
				if ids, err = tok.Append(ids[:0], text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
