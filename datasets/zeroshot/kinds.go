package zeroshot

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is a task whose questions are lines of JSON.
type Kind struct {
	Name, Doc string
	Chance    float64
	norm      bool // accuracy by character is reported too
	greedy    bool // one choice, right if it is what the model would say
	parse     func(fields) (Example, error)
}

// Kinds lists every task.
var Kinds = []*Kind{
	{"hellaswag", "how does this scene go on? (4 endings)", 0.25, true, false, hellaSwag},
	{"piqa", "how is this done? (2 solutions)", 0.5, true, false, piqa},
	{"winogrande", "whom does the sentence mean? (2 options)", 0.5, false, false, winoGrande},
	{"arc_easy", "questions of school science (4 choices)", 0.25, true, false, arc},
	{"lambada", "the last word of a passage", 0, false, true, lambada},
}

// Find returns the kind of that name, or an error that lists the known.
func Find(name string) (*Kind, error) {
	var names []string
	for _, k := range Kinds {
		if k.Name == name {
			return k, nil
		}
		names = append(names, k.Name)
	}
	return nil, fmt.Errorf("unknown task %q: known are %s", name, strings.Join(names, ", "))
}

// Read reads all questions; errors name file and line.
func (k *Kind) Read(in io.Reader, file string) ([]Example, error) {
	var all []Example
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<26)
	line := 0
	for lines.Scan() {
		line++
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		if !utf8.Valid(text) {
			return nil, fmt.Errorf("%s:%d: broken UTF-8", file, line)
		}
		var f fields
		err := json.Unmarshal(text, &f)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: no JSON object: %w", file, line, err)
		}
		e, err := k.parse(f)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, line, err)
		}
		all = append(all, e)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, line+1, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no questions in it", file)
	}
	return all, nil
}

// fields are a question's, by name.
type fields map[string]json.RawMessage

func get[T any](f fields, name, what string) (x T, err error) {
	raw, ok := f[name]
	if !ok {
		return x, fmt.Errorf("no field %s", name)
	}
	if json.Unmarshal(raw, &x) != nil {
		return x, fmt.Errorf("field %s = %s: must be %s", name, raw, what)
	}
	return x, nil
}

// texts are several fields of text.
func (f fields) texts(names ...string) ([]string, error) {
	all := make([]string, len(names))
	for i, name := range names {
		var err error
		if all[i], err = get[string](f, name, "text"); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// index is a number of a choice from first on, written as a number or as text.
func (f fields) index(name string, first, n int) (int, error) {
	raw, ok := f[name]
	if !ok {
		return 0, fmt.Errorf("no field %s", name)
	}
	i, err := strconv.Atoi(strings.Trim(string(raw), `"`))
	if err != nil || i < first || i >= first+n {
		return 0, fmt.Errorf("field %s = %s: must be %d to %d", name, raw, first, first+n-1)
	}
	return i - first, nil
}

// oneContext is a question whose choices follow the same text.
func oneContext(context string, choices []string, answer int) Example {
	e := Example{Answer: answer}
	for _, c := range choices {
		e.Choices = append(e.Choices, Choice{context, " " + c})
	}
	return e
}

func hellaSwag(f fields) (e Example, err error) {
	t, err := f.texts("activity_label", "ctx_a", "ctx_b")
	if err != nil {
		return e, err
	}
	endings, err := get[[]string](f, "endings", "a list of texts")
	if err != nil {
		return e, err
	}
	label, err := f.index("label", 0, len(endings))
	if err != nil {
		return e, err
	}
	for i := range endings {
		endings[i] = clean(endings[i])
	}
	return oneContext(clean(t[0]+": "+t[1]+" "+capitalize(t[2])), endings, label), nil
}

var bracketed = regexp.MustCompile(`\[.*?\]`)

// clean removes the traces of WikiHow's markup.
func clean(s string) string {
	s = strings.ReplaceAll(strings.TrimSpace(s), " [title]", ". ")
	return strings.ReplaceAll(bracketed.ReplaceAllString(s, ""), "  ", " ")
}

// capitalize makes the first letter large and all others small.
func capitalize(s string) string {
	first, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return string(unicode.ToTitle(first)) + strings.ToLower(s[n:])
}

func piqa(f fields) (e Example, err error) {
	t, err := f.texts("goal", "sol1", "sol2")
	if err != nil {
		return e, err
	}
	label, err := f.index("label", 0, 2)
	return oneContext("Question: "+t[0]+"\nAnswer:", t[1:], label), err
}

// winoGrande asks how well the rest of a sentence follows either option.
func winoGrande(f fields) (e Example, err error) {
	t, err := f.texts("sentence", "option1", "option2")
	if err != nil {
		return e, err
	}
	before, after, ok := strings.Cut(t[0], "_")
	if !ok {
		return e, fmt.Errorf("field sentence has no _: %q", t[0])
	}
	for _, option := range t[1:] {
		e.Choices = append(e.Choices, Choice{before + option, " " + strings.TrimSpace(after)})
	}
	e.Answer, err = f.index("answer", 1, 2)
	return e, err
}

// arc reads both published forms: choices as two lists beside the question, and
// as a list of objects within it.
func arc(f fields) (e Example, err error) {
	var texts, labels []string
	question, err := get[string](f, "question", "text")
	if err == nil {
		c, err := get[struct{ Text, Label []string }](f, "choices", "lists text and label")
		if err != nil {
			return e, err
		}
		texts, labels = c.Text, c.Label
	} else {
		q, err := get[struct {
			Stem    string
			Choices []struct{ Text, Label string }
		}](f, "question", "text, or an object with stem and choices")
		if err != nil {
			return e, err
		}
		question = q.Stem
		for _, c := range q.Choices {
			texts, labels = append(texts, c.Text), append(labels, c.Label)
		}
	}
	key, err := get[string](f, "answerKey", "text")
	if err != nil {
		return e, err
	}
	answer := slices.Index(labels, key)
	if answer < 0 || len(texts) != len(labels) {
		return e, fmt.Errorf("field answerKey = %q: must be one of the %d choices' labels %q", key, len(texts), labels)
	}
	return oneContext("Question: "+question+"\nAnswer:", texts, answer), nil
}

func lambada(f fields) (e Example, err error) {
	text, err := get[string](f, "text", "text")
	if err != nil {
		return e, err
	}
	at := strings.LastIndex(text, " ")
	if at < 0 {
		return e, fmt.Errorf("field text has a single word: %q", text)
	}
	return oneContext(text[:at], []string{text[at+1:]}, 0), nil
}
