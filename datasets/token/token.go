// Package token turns text into ids and back.
package token

import (
	"fmt"
	"strings"
	"sync"

	"github.com/tiktoken-go/tokenizer"
)

// Tokenizer is a reversible map from text to ids. It is safe for concurrent use.
type Tokenizer interface {
	Name() string
	// Vocab counts the ids, the separator included.
	Vocab() int
	// Separator is the id that stands between documents; no text yields it.
	Separator() int32
	// Append adds the ids of a text. Broken UTF-8 keeps its bytes only in the
	// byte-level tokenizer.
	Append(ids []int32, text string) ([]int32, error)
	// Bytes are what an id stands for: nothing for the separator.
	Bytes(id int32) string
}

// Names are the tokenizers that New knows.
var Names = []string{"bytes", "gpt2"}

// New returns a tokenizer: bytes, or gpt2 for GPT-2's byte-pair encoding, whose
// vocabulary is built in.
func New(name string) (Tokenizer, error) {
	switch name {
	case "bytes":
		return byteLevel{}, nil
	case "gpt2":
		return gpt2()
	}
	return nil, fmt.Errorf("tokenizer %q: known are %s", name, strings.Join(Names, ", "))
}

// Encode is Append to nothing.
func Encode(t Tokenizer, text string) ([]int32, error) { return t.Append(nil, text) }

// Decode joins what the ids stand for.
func Decode(t Tokenizer, ids []int32) string {
	var text strings.Builder
	for _, id := range ids {
		text.WriteString(t.Bytes(id))
	}
	return text.String()
}

// byteLevel has a byte's value as its id, and 256 as separator.
type byteLevel struct{}

func (byteLevel) Name() string     { return "bytes" }
func (byteLevel) Vocab() int       { return 257 }
func (byteLevel) Separator() int32 { return 256 }

func (byteLevel) Append(ids []int32, text string) ([]int32, error) {
	for i := range len(text) {
		ids = append(ids, int32(text[i]))
	}
	return ids, nil
}

func (byteLevel) Bytes(id int32) string {
	if id < 0 || id > 255 {
		return ""
	}
	return string([]byte{byte(id)})
}

// bpe is GPT-2's encoding: 50256 merges and bytes, then <|endoftext|>, which no
// text yields, not even its own spelling.
type bpe struct {
	codec tokenizer.Codec
	bytes []string
}

const endOfText = 50256

var gpt2 = sync.OnceValues(func() (Tokenizer, error) {
	codec, err := tokenizer.Get(tokenizer.R50kBase)
	if err != nil {
		return nil, fmt.Errorf("tokenizer gpt2: %w", err)
	}
	t := &bpe{codec, make([]string, endOfText+1)}
	for id := range uint(endOfText) {
		if t.bytes[id], err = codec.Decode([]uint{id}); err != nil {
			return nil, fmt.Errorf("tokenizer gpt2: id %d: %w", id, err)
		}
	}
	return t, nil
})

func (t *bpe) Name() string     { return "gpt2" }
func (t *bpe) Vocab() int       { return endOfText + 1 }
func (t *bpe) Separator() int32 { return endOfText }

func (t *bpe) Append(ids []int32, text string) ([]int32, error) {
	found, _, err := t.codec.Encode(text)
	if err != nil {
		return nil, fmt.Errorf("tokenizer gpt2: %w", err)
	}
	for _, id := range found {
		ids = append(ids, int32(id))
	}
	return ids, nil
}

func (t *bpe) Bytes(id int32) string {
	if id < 0 || id > endOfText {
		return ""
	}
	return t.bytes[id]
}
