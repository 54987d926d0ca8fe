package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalmarz/kalmarz/datasets"
	"github.com/kalmarz/kalmarz/layers/mixer"
)

// TestTOMLRoundTrip: every task and mixer, and mixers that share options with
// other values, come back from their file byte for byte.
func TestTOMLRoundTrip(t *testing.T) {
	cases := []string{
		"layers=3 mixer=gdn,softmax,kaczmarz mlp=8 mixer.heads@softmax=4 conv=2 eps=0.5",
		"layers=4 mixer=kaczmarz,gdn,kaczmarz,gdn sizes=own width=64",
		"layers=3 mixer=2xgdn,softmax heads@2=4 heads@softmax=4 route=cler-h route.rank=3 route.detach=true",
		"layers=4 mixer=kimi",
		"eta=0.5 lr=1 wd=0 lengths=1,3 seed=2147483647 tied=true",
	}
	for _, k := range mixer.Registry {
		cases = append(cases, "mixer="+k.Name)
	}
	for _, k := range datasets.Registry {
		if k != datasets.Registry[len(datasets.Registry)-1] { // opening a text reads the toolchain's sources
			cases = append(cases, "task="+k.Name)
		}
	}
	for _, words := range cases {
		e := parse(t, words)
		text, err := e.TOML()
		if err != nil {
			t.Fatalf("%s: %v", words, err)
		}
		path := filepath.Join(t.TempDir(), "x.toml")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		back, err := Parse([]string{path})
		if err != nil {
			t.Errorf("%s: %v in\n%s", words, err, text)
			continue
		}
		if diff := Diff(e, back); len(diff) > 0 || e.hash() != back.hash() {
			t.Errorf("%s: the file differs in %v", words, diff)
		}
		if again, err := back.TOML(); err != nil || again != text {
			t.Errorf("%s: %v; the second file is\n%s\nafter\n%s", words, err, again, text)
		}
	}
}

// TestOptionsOfOneMixer: what a file says of one mixer reaches that one alone.
func TestOptionsOfOneMixer(t *testing.T) {
	e, err := fromTOML("x.toml", []byte("layers = 2\n[mixer]\nname = \"gdn,softmax\"\nheads = 2\n[mixer.softmax]\nheads = 4\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := parse(t, "layers=2 mixer=gdn,softmax heads=2 heads@softmax=4")
	if d := Diff(e, want); len(d) > 0 {
		t.Errorf("differs in %v", d)
	}
	if d := Diff(e, parse(t, "layers=2 mixer=gdn,softmax heads=2")); strings.Join(d, " ") != "mixer.heads@softmax" {
		t.Errorf("one mixer's heads change %v", d)
	}
	words := map[string]string{"heads": "1"}
	if e, err = fromTOML("x.toml", []byte("layers = 2\n[mixer]\nname = \"gdn,softmax\"\n[mixer.softmax]\nheads = 4\n"), words); err != nil {
		t.Fatal(err)
	}
	if d := Diff(e, parse(t, "layers=2 mixer=gdn,softmax heads=1")); len(d) > 0 {
		t.Errorf("a word for all mixers leaves %v", d)
	}
}

func TestBadTOML(t *testing.T) {
	for _, c := range []struct{ text, words, want string }{
		{"steps = 3\nstepps = 4\n", "", `x.toml:2: unknown key "stepps" (did you mean steps?)`},
		{"[mixer]\nname = \"gdn\"\netta = 1\n", "", `x.toml:3: unknown key "mixer.etta"`},
		{"[mixer]\n\n# a comment\netta = 1.0\n", "", `x.toml:4: unknown key "mixer.etta" (did you mean mixer.eta?)`},
		{"[mixer]\neta = 1.0\n", "mixer=gdn", `x.toml:2: unknown key "mixer.eta"`},
		{"eta = 1.0\n", "", "x.toml:1: eta belongs in the table [mixer]"},
		{"[optimiser]\nlr = 0.1\n", "", "x.toml:2: unknown key optimiser.lr: top-level keys, [optimizer]"},
		{"steps = 3\nsteps = 4\n", "", "x.toml:2: "},
		{"mixer = \"gdn\"\n[mixer]\nname = \"kaczmarz\"\n", "", "x.toml:2: "},
		{"steps = \"3\"\n", "", `x.toml:1: steps = "3": must be a whole number in [1, `},
		{"steps = 0\n", "", "x.toml:1: steps = 0: must be a whole number in [1, "},
		{"steps = 1.5\n", "", "x.toml:1: steps = 1.5: must be a whole number"},
		{"steps = 99999999999999999999\n", "", "x.toml:1: "},
		{"lr = nan\n", "", "x.toml:1: lr = nan: must be a number >= 0"},
		{"tied = \"true\"\n", "", `x.toml:1: tied = "true": must be true or false`},
		{"init = torch\n", "", "x.toml:1: "},
		{"init = 3\n", "", "x.toml:1: init = 3: must be one of torch, normal, xavier, in quotes"},
		{"lengths = [1, 2]\n", "", "x.toml:1: lengths = "},
		{"[[task]]\nlen = 3\n", "", "x.toml:1: [[task]]: an experiment has no lists of tables"},
		{"[task]\nname = \"mqarr\"\n", "", `x.toml: unknown task "mqarr"`},
		{"[task]\nlen = 14\n", "", "x.toml: task mqar: pairs = "},
		{"[task]\nlen = 64\n", "preset=paper", "task.preset = paper would change nothing that the file sets, as task.len"},
		{"steps = 3 # \xff\n", "", "x.toml:1: "},
		{"\"task.len\" = 64\n", "", "x.toml:1: unknown key task.len"},
	} {
		words := map[string]string{}
		for _, w := range strings.Fields(c.words) {
			key, value, _ := strings.Cut(w, "=")
			words[key] = value
		}
		_, err := fromTOML("x.toml", []byte(c.text), words)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q %s: error %v, want %s", c.text, c.words, err, c.want)
		}
	}
	if _, err := Parse([]string{"absent.toml"}); err == nil || err.Error() != "absent.toml: no such file or directory" {
		t.Errorf("no file: error %v", err)
	}
	if _, err := Parse([]string{"a.toml", "b.toml"}); err == nil || !strings.Contains(err.Error(), "an experiment is one file") {
		t.Errorf("two files: error %v", err)
	}
}

// TestWordsOverrideTheFile also through an axis whose mixer the file may name.
func TestWordsOverrideTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.toml")
	text := "steps = 0x10\nlr = 1\n[task]\nlen = 32\n[mixer]\nname = \"kaczmarz\"\neta = 0.5\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if d := Diff(parse(t, path+" eta=1 steps=20"), parse(t, "eta=1 steps=20 lr=1 len=32")); len(d) > 0 {
		t.Errorf("differs in %v", d)
	}
	ax, err := Vary("ou")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := baseline([]string{path}, ax); err != nil {
		t.Errorf("the file's own mixer: %v", err)
	}
	if _, err := Parse([]string{path, "mixer.eta=1", "eta=1"}); err == nil || err.Error() != "mixer.eta is given twice, as eta and as mixer.eta" {
		t.Errorf("twice: error %v", err)
	}
}

// FuzzTOML: no text makes the reader panic, and what it accepts it writes and
// reads again as the same experiment.
func FuzzTOML(f *testing.F) {
	e, err := Parse(nil)
	if err != nil {
		f.Fatal(err)
	}
	text, err := e.TOML()
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{text, "", "a", "[", "[[mixer]]", "mixer.softmax.heads = 2", "steps = 1_0", "lr = +inf", "\"\" = 1", "[task]\r\nlen = 64", "x = {a = [1, 'b'], c = 1979-05-27}", "mixer = \"gdn,gdn\"\nlayers = 2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := parseTOML("x.toml", []byte(text))
		if err != nil {
			return
		}
		for _, e := range entries {
			if key, _ := e.key(); key == "task" && e.text != "mqar" || len(e.text) > 20 {
				return // other tasks may take long to make, as may long numbers
			}
		}
		e, err := fromTOML("x.toml", []byte(text), map[string]string{"width": "32", "layers": "2"})
		if err != nil {
			return
		}
		file, err := e.TOML()
		if err != nil {
			t.Skip(err)
		}
		back, err := fromTOML("y.toml", []byte(file), nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, file)
		}
		if d := Diff(e, back); len(d) > 0 {
			t.Errorf("differs in %v", d)
		}
	})
}
