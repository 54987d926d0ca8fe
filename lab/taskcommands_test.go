package lab

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalmarz/kalmarz/datasets"
)

// say runs a command and returns what it prints.
func say(t *testing.T, command string, words ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	s := NewSession(&out, &bytes.Buffer{})
	s.Backend = session().Backend
	c, err := findCommand(command)
	if err != nil {
		t.Fatal(err)
	}
	err = c.Run(context.Background(), s, words)
	return out.String(), err
}

// TestTasksReadNoText: the tables do not need the toolchain from which the
// texts come, nor a network.
func TestTasksReadNoText(t *testing.T) {
	t.Setenv("PATH", "")
	text, err := say(t, "tasks")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range datasets.Names() {
		if !strings.Contains(text, "\n"+name+" ") {
			t.Errorf("no line for %s", name)
		}
		if _, err := say(t, "tasks", name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	text, err = say(t, "tasks", "text")
	if want := "paper            50257    4096    4096"; err != nil || !strings.Contains(text, want) {
		t.Errorf("%v: lacks %q:\n%s", err, want, text)
	}
}

func TestShowTask(t *testing.T) {
	text, err := say(t, "task", "words", "group=z2", "task.len=8", "--show", "2", "--seed=3")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"group=z2 len=8", "2 input ids, 2 classes, 8 positions, 8 scored in a test row, chance 50 %", "test row 1, seed 3"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	// The second row's answers are the running sums of its inputs.
	lines := strings.Split(strings.TrimSpace(text), "\n")
	in, target := strings.Fields(lines[len(lines)-2])[1:], strings.Fields(lines[len(lines)-1])[1:]
	if len(in) != 8 || len(target) != 8 {
		t.Fatalf("rows %v and %v:\n%s", in, target, text)
	}
	odd := false
	for i := range in {
		odd = odd != (in[i] != "0")
		if (target[i] != "0") != odd {
			t.Errorf("position %d: %v after %v", i, target[i], in[:i+1])
		}
	}
}

func TestCheckTask(t *testing.T) {
	text, err := say(t, "task", "niah", "preset=quick", "--check", "--rows", "200")
	if err != nil || strings.Count(text, " ok ") != 7 || !strings.Contains(text, "oracle       ok  1 on 200 rows") {
		t.Errorf("%v:\n%s", err, text)
	}
	// A text that repeats itself has the same windows in two splits.
	path := filepath.Join(t.TempDir(), "again.txt")
	if err := os.WriteFile(path, []byte(strings.Repeat("0123456789abcdefg", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err = say(t, "task", "text", "corpus="+path, "len=16", "--check")
	if !errors.Is(err, errFailed) || !strings.Contains(text, "splits       FAILED  a row is in train and in ") {
		t.Errorf("%v:\n%s", err, text)
	}
}

func TestTaskErrors(t *testing.T) {
	for words, want := range map[string]string{
		"pairs=2 --show 1":                "a task's name is missing",
		"mqra --show 1":                   `unknown task "mqra" (did you mean mqar?): known are mqar, `,
		"mqar pair=3 --show 1":            `task mqar: unknown option "pair" (did you mean pairs?): known are vocab, len, pairs`,
		"mqar pairs=8 --show 1":           "task mqar: pairs = 8: 4*pairs = 32 must be at most len = 16",
		"mqar len=32 task.len=32 --check": "len is given twice",
		"mqar len --check":                `"len": expected key=value`,
		"mqar":                            "give --show N or --check",
		"mqar --show 1 --check":           "give --show N or --check",
		"mqar --show 0":                   "--show 0: must be a whole number of rows, at least 1",
		"mqar --check --rows x":           "--rows x: must be a whole number of rows, at least 1",
		"mqar --show":                     "--show needs a value",
		"mqar --sow 1":                    "unknown flag --sow (did you mean show?): known are --rows, --seed, --show, --split, --check",
		"mqar --check=yes":                "--check takes no value",
		"mqar --show 1 --split tset":      "--split tset: must be train, validation or test",
		"mqar --show 1 --seed -1":         "--seed -1: must be a whole number, at least 0",
		"text corpus=/none.txt --show 1":  "task text: corpus /none.txt: no such file or directory",
		"niah len=6 value=9 --show 1":     "task niah: value = 9: needle and query",
		"--check":                         "a task's name is missing",
	} {
		if _, err := say(t, "task", strings.Fields(words)...); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("task %s: error %v, want %s", words, err, want)
		}
	}
	for words, want := range map[string]string{
		"mqra":      `unknown task "mqra" (did you mean mqar?)`,
		"mqar niah": `"niah": tasks takes one task's name`,
	} {
		if _, err := say(t, "tasks", strings.Fields(words)...); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("tasks %s: error %v, want %s", words, err, want)
		}
	}
}

func TestCorpusStats(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lines.jsonl")
	if err := os.WriteFile(path, []byte(`{"text":"aabb"}`+"\n"+`{"text": oh}`+"\n"+`{"text":"ab"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := say(t, "corpus", path, "--stats")
	if want := path + ":2: no JSON object"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
	text, err := say(t, "corpus", path, "--stats", "--skip-bad")
	if err != nil {
		t.Fatal(err)
	}
	// Three a and three b: one bit alone.
	for _, want := range []string{"documents       2", "bytes           6", "distinct        2", "H0          1.000", "skipped         1", "skipped " + path + ":2: no JSON object"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	for words, want := range map[string]string{
		"":                             "0 paths: corpus takes one",
		"a b":                          "2 paths: corpus takes one",
		"/none.txt --stats":            "corpus /none.txt: no such file or directory",
		dir + " --limit -1":            "--limit -1: must be a whole number of megabytes",
		path + " --field body --stats": path + ":1: no field body: has text",
	} {
		if _, err := say(t, "corpus", strings.Fields(words)...); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("corpus %s: error %v, want %s", words, err, want)
		}
	}
}
