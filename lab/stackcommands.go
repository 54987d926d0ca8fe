package lab

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kalmarz/kalmarz/layers/model"
	"github.com/kalmarz/kalmarz/layers/option"
	"github.com/kalmarz/kalmarz/layers/route"
)

// listHybrids lists the published stacks, or the layers of one or any pattern.
func listHybrids(_ context.Context, s *Session, args []string) error {
	n := 0
	args = slices.DeleteFunc(slices.Clone(args), func(w string) bool {
		value, ok := strings.CutPrefix(w, "layers=")
		if ok {
			n, _ = strconv.Atoi(value)
			n = max(n, -1)
			if n == 0 {
				n = -1
			}
		}
		return ok
	})
	switch {
	case n < 0:
		return fmt.Errorf("layers must be %s", options.Find("layers").Allowed())
	case len(args) > 1:
		return fmt.Errorf("%q: hybrids takes one pattern; quote it if it has blanks", args[1])
	case len(args) == 0 && n > 0:
		return fmt.Errorf("layers=%d is of a pattern, which is missing", n)
	case len(args) == 1:
		return layersOfPattern(s.Out, args[0], n)
	}
	t := &table{header: []string{"hybrid", "pattern", "options", "source", ""}}
	for _, h := range model.Hybrids {
		t.add(h.Name, h.Pattern, strings.Join(hybridOptions(h), " "), h.Source, h.Doc)
	}
	_, err := io.WriteString(s.Out, t.text()+"\nmixer=HYBRID takes one, options that are given come before its own; a pattern is\n"+
		"NAME,NAME (in turn), 2xNAME,NAME (repeated), PATTERN every 3rd NAME, PATTERN: last NAME->NAME (or first).\n")
	return err
}

func hybridOptions(h *model.Hybrid) (words []string) {
	for _, of := range slices.Sorted(maps.Keys(h.Options)) {
		for _, name := range slices.Sorted(maps.Keys(h.Options[of])) {
			words = append(words, name+"@"+of+"="+h.Options[of][name])
		}
	}
	return words
}

// layersOfPattern prints a pattern's layers; n = 0 takes two turns of it.
func layersOfPattern(w io.Writer, text string, n int) error {
	p, err := model.ParsePattern(text)
	if err != nil {
		return err
	}
	if _, err := mixersOf(p); err != nil {
		return err
	}
	if n == 0 {
		n = 2 * p.Period()
	}
	names, err := p.Layers(n)
	if err != nil {
		return err
	}
	t := &table{header: []string{"layer", "mixer"}}
	for i, name := range names {
		t.add(strconv.Itoa(i+1), name)
	}
	_, err = fmt.Fprintf(w, "%s\n\n%s", p, t.text())
	return err
}

// listRouters lists the routers, or the options of some.
func listRouters(_ context.Context, s *Session, args []string) error {
	if len(args) == 0 {
		t := &table{header: []string{"router", "arXiv", ""}}
		for _, k := range route.Registry {
			t.add(k.Name, k.Paper, k.Doc)
		}
		_, err := io.WriteString(s.Out, t.text())
		return err
	}
	for _, name := range strings.Split(strings.Join(args, ","), ",") {
		k, err := route.Find(name)
		if err != nil {
			return fmt.Errorf("unknown router %q%s: known are %s", name, nearest(name, route.Names()), strings.Join(route.Names(), ", "))
		}
		source := ""
		if k.Paper != "" {
			source = " (arXiv " + k.Paper + ")"
		}
		if _, err := fmt.Fprintf(s.Out, "%s%s: %s\n\n%s\n", k.Name, source, k.Doc, optionTable("route.", k.Options)); err != nil {
			return err
		}
	}
	return nil
}

// stackWords completes the last word of a pattern.
func stackWords(partial string) (out []string) {
	cut := strings.LastIndexAny(partial, ", :>") + 1
	before := partial[:cut]
	words := mixerNames()
	switch last := strings.Fields(before); {
	case strings.TrimSpace(before) == "":
		for _, h := range model.Hybrids {
			words = append(words, h.Name)
		}
	case before[cut-1] == ',' || before[cut-1] == '>' || last[len(last)-1] == "last" || last[len(last)-1] == "first":
	case last[len(last)-1] == "every":
		words = []string{"2nd", "3rd", "4th"}
	case len(last) > 1 && last[len(last)-2] == "every":
	default: // after a whole pattern
		words = []string{"every", "first", "last"}
	}
	for _, w := range words {
		out = append(out, before+w)
	}
	return out
}

// chosenRouter are the options of the router that words choose.
func chosenRouter(words []string) option.Set {
	name := "none"
	for _, w := range words {
		if value, ok := strings.CutPrefix(w, "route="); ok {
			name = value
		}
	}
	if k, err := route.Find(name); err == nil {
		return k.Options
	}
	return nil
}
