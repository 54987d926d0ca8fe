package lab

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/kalmarz/kalmarz/datasets"
	"github.com/kalmarz/kalmarz/datasets/zeroshot"
)

// score answers a file of questions with a trained language model.
func score(ctx context.Context, s *Session, args []string) error {
	_, args = s.place(args)
	run, limit, most := "", "0", "0"
	words, err := readFlags(args, map[string]*string{"run": &run, "limit": &limit, "max-tokens": &most}, nil)
	if err != nil {
		return err
	}
	if len(words) != 2 || run == "" {
		return fmt.Errorf("score takes a task, a file of JSON lines and --run with the folder of a trained model")
	}
	questions, err := strconv.Atoi(limit)
	if err != nil || questions < 0 {
		return fmt.Errorf("--limit %s: must be a whole number of questions; 0 = all", limit)
	}
	tokens, err := strconv.Atoi(most)
	if err != nil || tokens < 0 {
		return fmt.Errorf("--max-tokens %s: must be a whole number; 0 = no limit", most)
	}
	k, err := findQuestions(words[0])
	if err != nil {
		return err
	}
	f, err := os.Open(words[1])
	if err != nil {
		return fmt.Errorf("%s: %w", words[1], cause(err))
	}
	defer f.Close()
	examples, err := k.Read(f, words[1])
	if err != nil {
		return err
	}
	if questions > 0 {
		examples = examples[:min(questions, len(examples))]
	}
	e, t, err := s.loadRun(run)
	if err != nil {
		return err
	}
	text, ok := e.Task.(*datasets.Text)
	if !ok {
		return fmt.Errorf("%s: it was trained on %s: questions need a model of text", run, e.Word("task"))
	}
	r, err := zeroshot.Score(k, examples, text.Tokenizer(), t.languageModel(ctx), zeroshot.Options{MaxTokens: tokens})
	if err != nil {
		return err
	}
	return printScore(s.Out, r, fmt.Sprintf("%s of width %d, tokens %s, from %s", e.Word("mixer"), e.Int("width"), text.Tokenizer().Name(), run))
}

// findQuestions is zeroshot.Find with a guess at what a mistyped name means.
func findQuestions(name string) (*zeroshot.Kind, error) {
	k, err := zeroshot.Find(name)
	if err != nil {
		var known []string
		for _, k := range zeroshot.Kinds {
			known = append(known, k.Name)
		}
		err = fmt.Errorf("%w%s", err, nearest(name, known))
	}
	return k, err
}

func printScore(w io.Writer, r zeroshot.Result, model string) error {
	t := &table{header: []string{"task", "questions", "acc %"}}
	row := []string{r.Task, fmt.Sprint(r.N), fmt.Sprintf("%.1f ±%.1f", 100*r.Acc, 100*r.AccErr)}
	if r.HasNorm {
		t.header, row = append(t.header, "acc_norm %"), append(row, fmt.Sprintf("%.1f ±%.1f", 100*r.Norm, 100*r.NormErr))
	}
	if r.Perplexity > 0 {
		t.header, row = append(t.header, "perplexity"), append(row, fmt.Sprintf("%.4g", r.Perplexity))
	} else {
		t.header, row = append(t.header, "chance %"), append(row, fmt.Sprintf("%.1f", 100*r.Chance))
	}
	t.add(row...)
	cut := ""
	if r.Truncated > 0 {
		cut = fmt.Sprintf("; %d prompts lost their start", r.Truncated)
	}
	_, err := fmt.Fprintf(w, "%s± one standard error; no examples in the prompt%s; %s\n", t.text(), cut, model)
	return err
}

// languageModel answers requests in calls of a few shapes: rows are padded at
// their end, which no earlier position sees.
func (t *trainer) languageModel(ctx context.Context) zeroshot.Model {
	return func(requests []zeroshot.Request) ([]zeroshot.Answer, error) {
		longest := 16
		for _, q := range requests {
			for len(q.Tokens)-1 > longest {
				longest *= 2
			}
		}
		const logits = 1 << 25 // of one call
		rows := 1
		for 2*rows <= len(requests) && 2*rows*longest*t.e.Task.Info().Vocab <= logits {
			rows *= 2
		}
		var answers []zeroshot.Answer
		for len(requests) > 0 {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			part := requests[:min(rows, len(requests))]
			requests = requests[len(part):]
			n := rows * longest
			b := datasets.Batch{Rows: rows, T: longest, Inputs: make([]int32, n), Targets: make([]int32, n)}
			for i, q := range part {
				copy(b.Inputs[i*longest:], q.Tokens[:len(q.Tokens)-1])
				copy(b.Targets[i*longest:], q.Tokens[1:])
			}
			likeliest, nll, err := t.answer(b)
			if err != nil {
				return nil, err
			}
			for i, q := range part {
				a := zeroshot.Answer{Greedy: true}
				for at := q.From - 1; at < len(q.Tokens)-1; at++ {
					a.LogProb -= float64(nll[i*longest+at])
					a.Greedy = a.Greedy && likeliest[i*longest+at] == q.Tokens[at+1]
				}
				answers = append(answers, a)
			}
		}
		return answers, nil
	}
}
