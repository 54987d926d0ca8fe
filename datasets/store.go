package datasets

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/kalmarz/kalmarz/datasets/corpus"
	"github.com/kalmarz/kalmarz/datasets/token"
)

// tokenStore holds the ids of a corpus, two bytes each: in memory while they are
// few, else in a file of the user's cache folder, where a later run finds them.
// Every document is followed by a separator.
type tokenStore struct {
	ids io.ReaderAt
	storeFacts
}

// storeFacts is what is known of a store besides its ids.
type storeFacts struct {
	Tokens, Documents int64
	Span              [3][2]int64 // of each split
	Bytes             [3]int64    // of text in it
	Most              [3]int64    // occurrences of its most frequent id
	Skipped           corpus.Skipped
}

// inMemory is how many bytes of ids are kept in memory.
const inMemory = 8 << 20

func openStore(c *corpus.Corpus, t token.Tokenizer) (*tokenStore, error) {
	sum := sha256.Sum256([]byte("1\n" + t.Name() + "\n" + c.Identity))
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	path := filepath.Join(cache, "kalmarz", "tokens", fmt.Sprintf("%x.u16", sum[:12]))
	if s := loadStore(path); s != nil {
		return s, nil
	}
	out := &spool{path: path}
	defer out.discard()
	s, err := writeStore(c, t, out)
	if err != nil {
		return nil, err
	}
	if s.ids, err = out.reader(); err != nil {
		return nil, err
	}
	s.Skipped = c.Skipped()
	if err := s.split(t); err != nil {
		return nil, err
	}
	return s, out.keep(s.storeFacts)
}

// loadStore returns nil if there is none.
func loadStore(path string) *tokenStore {
	s := &tokenStore{}
	facts, err := os.ReadFile(path + ".json")
	if err != nil || json.Unmarshal(facts, &s.storeFacts) != nil {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Size() != 2*s.Tokens {
		f.Close()
		return nil
	}
	s.ids = f
	return s
}

func writeStore(c *corpus.Corpus, t token.Tokenizer, out io.Writer) (*tokenStore, error) {
	s := &tokenStore{}
	var ids []int32
	var packed []byte
	for piece, err := range c.Pieces() {
		if err != nil {
			return nil, err
		}
		if ids, err = t.Append(ids[:0], string(piece.Text)); err != nil {
			return nil, err
		}
		if piece.Last {
			ids = append(ids, t.Separator())
			s.Documents++
		}
		packed = packed[:0]
		for _, id := range ids {
			packed = binary.LittleEndian.AppendUint16(packed, uint16(id))
		}
		if _, err := out.Write(packed); err != nil {
			return nil, err
		}
		s.Tokens += int64(len(ids))
	}
	return s, nil
}

// split cuts off the last 5 % for validation and the 5 % before it for testing,
// between two documents if one ends near. Nothing is shuffled before.
func (s *tokenStore) split(t token.Tokenizer) error {
	a, err := s.documentEnd(s.Tokens-s.Tokens/10, t.Separator())
	if err != nil {
		return err
	}
	b, err := s.documentEnd(s.Tokens-s.Tokens/20, t.Separator())
	if err != nil {
		return err
	}
	s.Span = [3][2]int64{Train: {0, a}, Test: {a, b}, Validation: {b, s.Tokens}}
	for split, span := range s.Span {
		counts := make([]int64, t.Vocab())
		err := s.scan(span[0], span[1], func(_ int64, id int32) bool { counts[id]++; return true })
		if err != nil {
			return err
		}
		for id, n := range counts {
			s.Bytes[split] += n * int64(len(t.Bytes(int32(id))))
			s.Most[split] = max(s.Most[split], n)
		}
	}
	return nil
}

// documentEnd is the first end of a document in the 1 % of ids after at, or at.
func (s *tokenStore) documentEnd(at int64, separator int32) (int64, error) {
	end := at
	err := s.scan(at, min(at+s.Tokens/100, s.Tokens), func(i int64, id int32) bool {
		if id == separator {
			end = i + 1
		}
		return id != separator
	})
	return end, err
}

// scan visits ids until visit is false.
func (s *tokenStore) scan(from, to int64, visit func(i int64, id int32) bool) error {
	ids, packed := make([]int32, 1<<16), make([]byte, 1<<17)
	for from < to {
		part := ids[:min(int64(len(ids)), to-from)]
		if err := s.read(from, part, packed); err != nil {
			return err
		}
		for i, id := range part {
			if !visit(from+int64(i), id) {
				return nil
			}
		}
		from += int64(len(part))
	}
	return nil
}

// read fills ids from position at, with scratch space of two bytes each.
func (s *tokenStore) read(at int64, ids []int32, packed []byte) error {
	packed = packed[:2*len(ids)]
	if _, err := s.ids.ReadAt(packed, 2*at); err != nil && err != io.EOF {
		return fmt.Errorf("token store: %w", err)
	}
	for i := range ids {
		ids[i] = int32(binary.LittleEndian.Uint16(packed[2*i:]))
	}
	return nil
}
