package corpus

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// hugged serves files as Hugging Face does, and counts what is downloaded.
func hugged(t *testing.T, files map[string]string) *[]string {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/datasets/me/data/revision/") {
			var names []string
			for name := range files {
				names = append(names, fmt.Sprintf(`{"rfilename":%q}`, name))
			}
			fmt.Fprintf(w, `{"id":"me/data","sha":"0123456789","siblings":[%s]}`, strings.Join(names, ","))
			return
		}
		_, name, _ := strings.Cut(r.URL.Path, "/datasets/me/data/resolve/")
		_, name, _ = strings.Cut(name, "/")
		text, ok := files[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", fmt.Sprintf("%q", strings.ReplaceAll(name, "/", "_")))
		if r.Method == http.MethodGet {
			got = append(got, name)
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		if r.Method == http.MethodGet {
			fmt.Fprint(w, text)
		}
	}))
	t.Cleanup(server.Close)
	t.Setenv("HF_ENDPOINT", server.URL)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HF_HOME", t.TempDir())
	return &got
}

func TestHugging(t *testing.T) {
	downloaded := hugged(t, map[string]string{
		"README.md":                  "# data",
		"sample/10BT/000.parquet":    tabled([]page{{"u", "one"}}),
		"sample/10BT/001.parquet":    tabled([]page{{"u", "two"}, {"v", "three"}}),
		"sample/100BT/000.parquet":   tabled([]page{{"u", "other"}}),
		"train/chunk1/a_0.jsonl.zst": zstded(`{"text":"four"}`),
		"test/chunk1/a_0.jsonl.zst":  zstded(`{"text":"held out"}`),
	})
	for spec, want := range map[string][]string{
		"hf:me/data:sample-10BT":  {"one", "two", "three"},
		"hf:me/data:train:chunk1": {"four"},
		"hf:me/data:chunk1":       {"four"},
		"hf:me/data:chunk1:test":  {"held out"},
	} {
		got, _, err := read(t, spec, Options{})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", spec, got, err, want)
		}
	}
	*downloaded = nil
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if _, _, err := read(t, "hf:me/data:sample-10BT", Options{Limit: 3}); err != nil || len(*downloaded) != 1 {
		t.Errorf("a limit in the first file downloads %v, %v", *downloaded, err)
	}
	if _, err := Open("hf:me/data:sample-5BT", Options{}); err == nil || err.Error() != "corpus hf:me/data:sample-5BT: none of its 5 data files is of sample-5BT" {
		t.Errorf("error %v", err)
	}
	if _, err := Open("hf:me/nothing", Options{}); err == nil || !strings.HasPrefix(err.Error(), "corpus hf:me/nothing: its list of files: ") {
		t.Errorf("error %v", err)
	}
}
