package datasets

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/kalmarz/kalmarz/datasets/corpus"
	"github.com/kalmarz/kalmarz/datasets/token"
	"github.com/kalmarz/kalmarz/layers/option"
)

// textKind is language modelling: every next token of a window is a target.
// Documents are joined by a separator, cut into windows of len+1 tokens that
// share their ends, and split by place before anything is shuffled.
var textKind = &Kind{
	Name: "text",
	Doc:  "the next token of a text",
	Options: option.Set{
		{Name: "corpus", Kind: option.Word, Default: "prose", Help: "prose, gosrc, hf:OWNER/NAME[:config[:split]], or a file or folder of txt, jsonl (gz, zst) or parquet"},
		{Name: "tokens", Kind: option.Word, Default: "bytes", Choices: token.Names, Help: "what a token is"},
		{Name: "len", Kind: option.Int, Default: 128, Range: [2]float64{1, 1 << 19}, Help: "L: positions of a window"},
		{Name: "field", Kind: option.Word, Default: "text", Help: "field of a JSON line, or column, with the text"},
		{Name: "skip-bad", Kind: option.Bool, Default: false, Help: "pass over what cannot be read, and count it"},
		{Name: "limit", Kind: option.Int, Default: 0, Range: [2]float64{0, 999_999}, Help: "megabytes of text to read; 0: all"},
	},
	Presets: map[string]map[string]string{
		"small":      {"corpus": "gosrc", "len": "512"},
		"paper":      {"corpus": "hf:HuggingFaceFW/fineweb-edu:sample-10BT", "tokens": "gpt2", "len": "4096"},
		"slimpajama": {"corpus": "hf:cerebras/SlimPajama-627B:train", "tokens": "gpt2", "len": "1024", "limit": "5000"},
	},
	New: newText, unread: unreadText,
}

var errUnread = errors.New("task text: its rows were not read")

// Text is a language modelling task.
type Text struct {
	info   Info
	tokens token.Tokenizer
	store  *tokenStore
}

func newText(v option.Values) (Task, error) {
	t, err := token.New(v.Word("tokens"))
	if err != nil {
		return nil, err
	}
	c, err := corpus.Open(v.Word("corpus"), corpus.Options{
		Field: v.Word("field"), SkipBad: v.Bool("skip-bad"), Limit: int64(v.Int("limit")) * 1_000_000,
	})
	if err != nil {
		return nil, fmt.Errorf("task text: %w", err)
	}
	s, err := openStore(c, t)
	if err != nil {
		return nil, fmt.Errorf("task text: %w", err)
	}
	return windows(v, t, s)
}

// unreadText knows its tokens, but has no rows.
func unreadText(v option.Values) (Task, error) {
	t, err := token.New(v.Word("tokens"))
	if err != nil {
		return nil, fmt.Errorf("task text: %w", err)
	}
	return &Text{info: textInfo(v, t), tokens: t}, nil
}

func textInfo(v option.Values, t token.Tokenizer) Info {
	L := v.Int("len")
	return Info{Name: "text", Vocab: t.Vocab(), Classes: t.Vocab(), T: L, Scored: float64(L), Chance: math.NaN(), Values: v}
}

func windows(v option.Values, t token.Tokenizer, s *tokenStore) (Task, error) {
	info := textInfo(v, t)
	L := info.T
	info.Chance = float64(s.Most[Test]) / float64(max(1, s.Span[Test][1]-s.Span[Test][0]))
	for _, split := range Splits {
		n := s.Span[split][1] - s.Span[split][0]
		info.Pool[split] = int((n - 1) / int64(L))
		if n < int64(L)+1 {
			return nil, impossible("text", "len", L, "the %s part of %s has %d tokens: must have more than len", split, v.Word("corpus"), n)
		}
	}
	return &Text{info, t, s}, nil
}

func (x *Text) Info() Info                 { return x.info }
func (x *Text) Oracle(Batch) []int32       { return nil }
func (x *Text) Lengths() []string          { return []string{"windows"} }
func (x *Text) Details() []Detail          { return []Detail{positions(x.info.T)} }
func (x *Text) Tokenizer() token.Tokenizer { return x.tokens }

// Longer cuts the same text into longer windows, each read from a fresh state.
func (x *Text) Longer(factor int, mode string) (Task, error) {
	if err := checkLonger(x, factor, mode); err != nil {
		return nil, err
	}
	if x.store == nil {
		return nil, errUnread
	}
	return scaled(func(v option.Values) (Task, error) { return windows(v, x.tokens, x.store) }, x.info.Values, factor, mode, "len")
}

func (x *Text) Batch(split Split, seed uint64, index, rows int) (Batch, error) {
	b, err := newBatch(x.info, split, index, rows)
	if err != nil {
		return b, err
	}
	if x.store == nil {
		return Batch{}, errUnread
	}
	window, packed := make([]int32, b.T+1), make([]byte, 2*(b.T+1))
	stream := streamOf(x.info, split, seed)
	for i := range rows {
		number := x.info.row(split, stream, index, rows, i)
		in, target, mask := b.Row(i)
		if err := x.store.read(x.store.Span[split][0]+int64(number)*int64(b.T), window, packed); err != nil {
			return Batch{}, err
		}
		copy(in, window)
		copy(target, window[1:])
		for t := range mask {
			mask[t] = 1
		}
	}
	return b, nil
}

func (x *Text) Token(id int32) string {
	if id == x.tokens.Separator() {
		return "<end>"
	}
	return strconv.Quote(x.tokens.Bytes(id))
}

func (x *Text) Class(id int32) string { return x.Token(id) }

// Size counts the tokens of a split, separators included, and its bytes of text.
func (x *Text) Size(split Split) (tokens, bytes int64) {
	span := x.store.Span[split]
	return span[1] - span[0], x.store.Bytes[split]
}

// Documents counts the documents of the whole corpus, and Skipped tells what of
// it could not be read.
func (x *Text) Documents() int64        { return x.store.Documents }
func (x *Text) Skipped() corpus.Skipped { return x.store.Skipped }

// Perplexity is exp of the mean negative log-likelihood in nats a token. It
// cannot be compared between tokenizers.
func Perplexity(nats float64) float64 { return math.Exp(nats) }

// Bytes counts the bytes of text that the scored targets of a batch stand for;
// a separator stands for none.
func (x *Text) Bytes(b Batch) int64 {
	n := int64(0)
	for i, m := range b.Mask {
		if m != 0 {
			n += int64(len(x.tokens.Bytes(b.Targets[i])))
		}
	}
	return n
}

// BitsPerByte is what text costs whose tokens have a negative log-likelihood of
// so many nats together. It can be compared between tokenizers.
func BitsPerByte(nats float64, bytes int64) float64 { return nats / (float64(bytes) * math.Ln2) }
