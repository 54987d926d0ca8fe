package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Study is an ablation with a name: what is varied, on what, and which of its
// figures answer the question. Its words are a quick look, a minute or two on two
// cores; key=value words make it longer.
type Study struct {
	Name, Doc string
	Axes      string   // as ablate takes them
	Words     string   // key=value: each is taken if the words given do not say otherwise
	Shows     []string // names of the figures, the first to be looked at first
}

// Studies lists the studies; a new one joins with its line here.
var Studies = []*Study{
	{"routing", "what helps between layers: write errors, values, or merely more parameters",
		"route none cler cler-h clvr self wide",
		"mixer=gdn layers=2 " + smallRecall + " steps=120 seeds=3 lengths=1,4", []string{"change", "accuracy"}},
	{"hybrid", "how much attention a stack needs: from all delta rule to all softmax",
		"hybrid", "layers=3 " + smallRecall + " steps=100 seeds=3 lengths=1,2,4", []string{"accuracy", "change"}},
	{"optimizer", "how sensitive each optimizer is to its learning rate",
		"optimizer adamw muon normuon x lr 0.001 0.003 0.01 0.03 0.1",
		"mixer=gdn " + smallRecall + " steps=100 seeds=3 lengths=1", []string{"curves", "heat"}},
	{"gates", "the delta rule's space: forgetting, erasing and writing, each with no gate, one a head or one a channel",
		"forget none scalar channel x erase none scalar channel x write none scalar channel",
		"mixer=delta write=scalar " + smallRecall + " steps=80 seeds=3 lengths=1,4", []string{"heat", "heat-4x"}},
	{"depth", "which mixers gain from depth",
		"mixer gdn kalman softmax x depth 1 2 4",
		smallRecall + " steps=80 batch=16 seeds=3 lengths=1,4", []string{"curves", "heat"}},
}

// smallRecall is a task that small models learn in a hundred steps.
const smallRecall = "task=mqar len=8 pairs=2 vocab=16 eval_rows=128"

func studyNames() (names []string) {
	for _, st := range Studies {
		names = append(names, st.Name)
	}
	return names
}

func findStudy(name string) (*Study, error) {
	for _, st := range Studies {
		if st.Name == name {
			return st, nil
		}
	}
	return nil, fmt.Errorf("unknown study %q%s: known are %s", name, nearest(name, studyNames()), strings.Join(studyNames(), ", "))
}

// with completes words by the study's own. Another task or mixer may not have
// the options that the study gives its own.
func (st *Study) with(words []string) []string {
	own := strings.Fields(st.Words)
	canonical := canonicalKeys(own)
	given := fileKeys(words)
	for _, w := range words {
		key, _, _ := strings.Cut(w, "=")
		given = append(given, key)
	}
	own = slices.DeleteFunc(own, func(w string) bool {
		key, _, _ := strings.Cut(w, "=")
		group, _, dotted := strings.Cut(canonical(key), ".")
		return dotted && slices.Contains(given, group)
	})
	return fill(words, own)
}

// study runs a study through ablate.
func study(ctx context.Context, s *Session, args []string) error {
	if len(args) == 0 {
		return errors.New("a study is missing; these are known:\n" + studyTable())
	}
	st, err := findStudy(args[0])
	if err != nil {
		return err
	}
	lrs, again := "", false
	words, err := readFlags(args[1:], map[string]*string{"lrs": &lrs}, map[string]*bool{"again": &again})
	if err != nil {
		return err
	}
	for _, w := range words {
		if !strings.Contains(w, "=") && !isFile(w) {
			return fmt.Errorf("%q: study takes key=value; for other values of its axes: ablate %s", w, st.Axes)
		}
	}
	words = append(strings.Fields(st.Axes), st.with(s.withDefaults(words))...)
	if lrs != "" {
		words = append(words, "--lrs", lrs)
	}
	if again {
		words = append(words, "--again")
	}
	return vary(ctx, s, words, 1, st.Shows...)
}

func studyTable() string {
	t := &table{header: []string{"study", "varies", ""}}
	for _, st := range Studies {
		var axes []string
		for _, part := range split(strings.Fields(st.Axes), cross) {
			axes = append(axes, part[0])
		}
		t.add(st.Name, strings.Join(axes, " x "), st.Doc)
	}
	return t.text()
}

// listStudies lists the studies, or says what one runs.
func listStudies(_ context.Context, s *Session, args []string) error {
	text := studyTable()
	switch len(args) {
	case 0:
	case 1:
		st, err := findStudy(args[0])
		if err != nil {
			return err
		}
		text = fmt.Sprintf("%s: %s\n\nablate %s %s\n\nfigures: %s\n", st.Name, st.Doc, st.Axes, st.Words, strings.Join(st.Shows, ", "))
	default:
		return fmt.Errorf("%q: studies takes one study", args[1])
	}
	_, err := io.WriteString(s.Out, text)
	return err
}
