package corpus

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/gomlx/go-huggingface/hub"
)

// hugging is a data set of Hugging Face, OWNER/NAME[:config[:split]]: its parquet
// and JSON-lines files whose path has the words of config and split, as
// sample-10BT has those of sample/10BT/000.parquet. Files are downloaded one by
// one as reading reaches them, and kept in Hugging Face's own cache. HF_TOKEN and
// HF_ENDPOINT are honoured.
func hugging(spec string) (*Corpus, error) {
	parts := strings.Split(spec, ":")
	id := parts[0]
	if strings.Count(id, "/") != 1 || strings.HasPrefix(id, "/") || strings.HasSuffix(id, "/") || len(parts) > 3 {
		return nil, errors.New("must be hf:OWNER/NAME, with :config and :split if wanted")
	}
	repo := hub.New(id).WithType(hub.RepoTypeDataset).WithAuth(os.Getenv("HF_TOKEN")).WithProgressBar(false)
	repo.Verbosity = 0
	if err := repo.DownloadInfo(false); err != nil {
		return nil, fmt.Errorf("its list of files: %w", err)
	}
	var names []string
	for name, err := range repo.IterFileNames() {
		if err != nil {
			return nil, err
		}
		if readable(name) && !strings.HasSuffix(name, ".txt") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	c := &Corpus{Identity: "hf " + spec + " " + repo.Info().CommitHash + "\n"}
	for _, name := range names {
		if slices.ContainsFunc(parts[1:], func(part string) bool { return !hasWords(name, part) }) {
			continue
		}
		if len(parts) < 3 && heldOut(name) {
			continue
		}
		c.files = append(c.files, file{name: name, fetch: func() (string, error) { return repo.DownloadFile(name) }})
	}
	if len(c.files) == 0 {
		return nil, fmt.Errorf("none of its %d data files is of %s", len(names), strings.Join(parts[1:], ", "))
	}
	return c, nil
}

// hasWords tells whether a path has the words of a name in this order.
func hasWords(path, name string) bool {
	words := func(s string) string {
		return "/" + strings.NewReplacer("-", "/", "_", "/", ".", "/").Replace(s) + "/"
	}
	return strings.Contains(words(path), words(name))
}

// heldOut tells whether a path is of a split that nobody trains on.
func heldOut(path string) bool {
	return hasWords(path, "test") || hasWords(path, "validation") || hasWords(path, "valid") || hasWords(path, "dev")
}
