package lab

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSplitLine(t *testing.T) {
	for _, c := range []struct {
		line string
		want string // words with | between, commands with ;
		more bool
	}{
		{"", "", false},
		{"  ablate eta\t0.25  0.5 ", "ablate|eta|0.25|0.5", false},
		{"a; b c ;d", "a;b|c;d", false},
		{"a;", "a;", false},
		{"train # steps=3; x", "train", false},
		{"a#b", "a#b", false},
		{`a\ b 'c "d' "e 'f\" \x\\"`, `a b|c "d|e 'f" \x\`, false},
		{`''a"" ''`, "a|", false},
		{`\#a \; \\`, `#a|;|\`, false},
		{`a b\`, "a|b", true},
		{`a \`, "a", true},
		{`\`, "", true},
		{`# a \`, "", false},
		{"π=τ α", "π=τ|α", false},
	} {
		commands, more, err := splitLine(c.line)
		var got []string
		for _, words := range commands {
			got = append(got, strings.Join(texts(words), "|"))
		}
		if err != nil || strings.Join(got, ";") != c.want || more != c.more {
			t.Errorf("%q: %q, %v, %v", c.line, got, more, err)
		}
	}
	for line, want := range map[string]string{"a 'b": "the quote ' in column 3 is not closed", `"`: `the quote " in column 1 is not closed`, `"\"`: `the quote " in column 1 is not closed`} {
		if _, _, err := splitLine(line); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %s", line, err, want)
		}
	}
}

// FuzzSplitLine: words that are escaped are read back, from the place that is
// said to spell them.
func FuzzSplitLine(f *testing.F) {
	for _, seed := range []string{"", "ablate eta 0.5", `a\`, `'`, `"\`, "a;;#", `\ `, "x='1 2' \"y\\\"\"; z", "\xff\x00\\", "a\r\n b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		commands, more, err := splitLine(line)
		if err != nil || more {
			return
		}
		for _, words := range commands {
			var spelled []string
			for _, w := range words {
				alone, _, err := splitLine(line[w.start:w.end])
				if err != nil || len(alone) != 1 || len(alone[0]) > 1 || len(alone[0]) == 1 && alone[0][0].text != w.text {
					t.Fatalf("%q: %q is spelled %q", line, w.text, line[w.start:w.end])
				}
				spelled = append(spelled, escape(w.text))
			}
			if strings.Contains(line, "\n") {
				continue
			}
			again, more, err := splitLine(strings.Join(spelled, " "))
			if err != nil || more {
				t.Fatalf("%q: %v", texts(words), err)
			}
			if !slices.Equal(texts(again[0]), texts(words)) {
				t.Fatalf("%q became %q", texts(words), texts(again[0]))
			}
		}
	})
}

// FuzzCompletion: no line makes it panic, and what it inserts is text.
func FuzzCompletion(f *testing.F) {
	for _, seed := range []string{"", "tr", "train mixer=kac", "train task=mqar mixer=gdn,", "ablate eta ", "task mqar --split ", "mixers a,k", "source /", "help 'x", "train mixer.", "set eta="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, "\n") {
			return
		}
		s := fresh()
		insert := s.completeLine(line, 80, func(string) {})
		if strings.ContainsAny(insert, "\n\x00") {
			t.Errorf("%q inserts %q", line, insert)
		}
	})
}

// FuzzParse: words of any kind are an experiment or an error.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		tiny, "steps=0", "steps", "=", "mixer=gdn,kda layers=2", "mixer=,", "lengths=,", "lengths=1,1", "eta=NaN", "task=mqar len=4 pairs=1 vocab=4",
		"task=words group=a5", "chunk=-1", "mixer.=1", "task.=", "width=1", "width=3 heads=2 sizes=own", "preset=paper", "wd=1e400", "dk=0", "mixer=mamba2 dv=8",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, "text") {
			return // a task of text looks for files and downloads
		}
		commands, _, err := splitLine(line)
		if err != nil {
			return
		}
		for _, words := range commands {
			slow := time.AfterFunc(10*time.Second, func() { panic(line + ": takes for ever") })
			e, err := Parse(texts(words))
			slow.Stop()
			if (e == nil) == (err == nil) && err == nil {
				t.Errorf("%q: neither an experiment nor an error", line)
			}
			if err != nil && strings.TrimSpace(err.Error()) == "" {
				t.Errorf("%q: an empty error", line)
			}
		}
	})
}

func TestComplete(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"runs/train-1/run.json", "my file.kal", "other.kal"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	s := fresh()
	for _, c := range []struct{ line, insert, shown string }{
		{"mixe", "rs ", ""},
		{"set; mixe", "rs ", ""},
		{"mixers kac", "zmarz ", ""},
		{"mixers gla,kac", "zmarz ", ""},
		{"tasks mq", "ar", ""},
		{"tasks mqar", "", "mqar-mix"},
		{"ablate et", "a ", ""},
		{"ablate eta lear", "ned ", ""},
		{"ablate eta 0.5 st", "eps=", ""},
		{"ablate eta x dep", "th ", ""},
		{"ablate eta 0.5 x eps 1e", "-06 ", ""},
		{"train mixer=kacz", "marz ", ""},
		{"train mixer=gla,kacz", "marz ", ""},
		{"train mixer=kim", "i ", ""},
		{"train mixer=gdn\\ ev", "ery ", ""},
		{"train mixer=gdn\\ every\\ 3", "rd ", ""},
		{"train mixer=gdn\\ every\\ 3rd\\ sof", "tmax ", ""},
		{"train mixer=softmax:\\ last\\ softmax->kal", "man ", ""},
		{"train rou", "te=", ""},
		{"train route=cler-", "h ", ""},
		{"train route=cler route.ga", "mma=", ""},
		{"train route=cler route.gamma=ch", "annel ", ""},
		{"routers cler,cl", "", "cler,clvr"},
		{"hybrids eth la", "yers=", ""},
		{"train norm", "", "norm_eps="},
		{"train mixer=gdn eta", "", ""},
		{"train etaa", "", ""},
		{"train mixer.et", "a=", ""},
		{"train init=x", "avier ", ""},
		{"train tied=t", "rue ", ""},
		{"train backend=xla:cu", "da ", ""},
		{"train steps=3 steps", "", ""},
		{"task mqar le", "n=", ""},
		{"task mqar --sp", "lit ", ""},
		{"task mqar --split v", "alidation ", ""},
		{"doctor ba", "ckend=", ""},
		{"source my", `\ file.kal `, ""},
		{`source my\ f`, "ile.kal ", ""},
		{"source ru", "ns/", ""},
		{"source 'my", "", ""},
		{"help abl", "ate ", ""},
		{"nonsense x", "", ""},
		{"show tr", "ain-1 ", ""},
		{"ablate eta 0.5 lea", "rned ", ""},
		{"config di", "ff ", ""},
		{"config diff oth", "er.kal ", ""},
		{"table x --format la", "tex ", ""},
		{"train out=ru", "ns/", ""},
		{"bench filt", "er ", ""},
		{"bench delta deca", "y=", ""},
		{"bench mixers=gla,kacz", "marz ", ""},
	} {
		shown := ""
		insert := s.completeLine(c.line, 80, func(text string) { shown = text })
		if insert != c.insert || (c.shown == "") != (shown == "") || !strings.Contains(shown, c.shown) {
			t.Errorf("%q inserts %q, want %q; shows %q, want %q", c.line, insert, c.insert, shown, c.shown)
		}
	}
	if got := runFolders(nil, ""); !slices.Equal(got, []string{"train-1"}) {
		t.Errorf("run folders: %q", got)
	}
}

func TestSet(t *testing.T) {
	s := fresh()
	do := func(words string) string {
		if err := set(t.Context(), s, strings.Fields(words)); err != nil {
			return err.Error()
		}
		return strings.Join(pairs(s.defaults), " ")
	}
	for _, c := range []struct{ words, want string }{
		{"eta=0.5 steps=7", "eta=0.5 steps=7"},
		{"mixer.eta=1", "mixer.eta=1 steps=7"},
		{"steps=x seeds=2", "experiment: steps = x: must be a whole number"},
		{"mixer=gdn", `unknown key "mixer.eta"`},
		{"eta= mixer=gdn", "steps=7 mixer=gdn"},
		{"stepz=", "stepz is not set (did you mean steps?)"},
		{"backend=xlaa", `unknown backend "xlaa"`},
		{"steps", `"steps": expected key=value`},
		{"backend=go out=here", "steps=7 mixer=gdn backend=go out=here"},
	} {
		if got := do(c.words); !strings.HasPrefix(got, c.want) {
			t.Errorf("set %s: %s, want %s", c.words, got, c.want)
		}
	}
	got := strings.Join(s.withDefaults([]string{"mixer=kaczmarz", "mixer.eta=1"}), " ")
	if want := "mixer=kaczmarz mixer.eta=1 steps=7 backend=go out=here"; got != want {
		t.Errorf("with defaults: %s, want %s", got, want)
	}
}
