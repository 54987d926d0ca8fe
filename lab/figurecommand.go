package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/kalmarz/kalmarz/viz"
)

// drawFigures draws an ablation's figures again, or a paper's figure from runs.
func drawFigures(_ context.Context, s *Session, args []string) error {
	out, rest := s.folder(args)
	preset, style, folder := "", "", ""
	dark, list := false, false
	words, err := readFlags(rest, map[string]*string{"preset": &preset, "style": &style, "out": &folder}, map[string]*bool{"dark": &dark, "list": &list})
	if err != nil {
		return err
	}
	if list {
		text, err := presetList()
		if err != nil {
			return err
		}
		_, err = io.WriteString(s.Out, text)
		return err
	}
	look, err := styleOf(style, preset, dark)
	if err != nil {
		return err
	}
	if preset != "" {
		return s.drawPreset(out, words, preset, look, folder)
	}
	if len(words) != 1 {
		return errors.New("expected one ablation, figure ABLATION, or runs for a paper's figure, figure RUN... --preset PRESET; figure --list shows the presets")
	}
	a, err := openAblation(out, words[0])
	if err != nil {
		return err
	}
	if style == "" && !dark && folder == "" {
		if err := a.report(); err != nil {
			return err
		}
		if err := a.Print(s.Out); err != nil {
			return err
		}
		return a.nameFigures(s.Out)
	}
	return s.saveFigures(a.figures(), cmp.Or(folder, a.Dir), look)
}

// styleOf finds a style of viz by its name without -dark.
func styleOf(name, preset string, dark bool) (viz.Style, error) {
	switch {
	case name == "" && preset != "":
		name = "paper"
	case name == "":
		name = "paper-wide"
	}
	var known []string
	for _, st := range viz.Styles() {
		if st.Dark == dark && strings.TrimSuffix(st.Name, "-dark") == name {
			return st, nil
		}
		if !st.Dark {
			known = append(known, st.Name)
		}
	}
	return viz.Style{}, fmt.Errorf("--style %s: known are %s, and --dark for any of them", name, strings.Join(known, ", "))
}

// drawPreset draws a preset, or those of a paper that the runs have the data for.
func (s *Session) drawPreset(root string, words []string, name string, look viz.Style, folder string) error {
	presets, err := findPresets(name)
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return fmt.Errorf("expected runs, ablations or folders of them: figure RUN... --preset %s", name)
	}
	runs, err := s.endedRuns(root, words)
	if err != nil {
		return err
	}
	if folder == "" {
		folder = root
		if dir, err := findAblation(root, words[0]); err == nil && len(words) == 1 {
			folder = dir
		}
	}
	var figures []namedFigure
	var lacking []error
	for _, p := range presets {
		drawn, err := p.figures(runs)
		if err != nil {
			lacking = append(lacking, err)
		}
		figures = append(figures, drawn...)
	}
	if len(figures) == 0 {
		return lacking[0]
	}
	for _, err := range lacking {
		s.note("not drawn: " + err.Error())
	}
	return s.saveFigures(figures, folder, look)
}

// saveFigures writes figures and names their files.
func (s *Session) saveFigures(figures []namedFigure, dir string, look viz.Style) error {
	for _, f := range figures {
		saved, err := f.figure.Save(dir, f.name, look)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(s.Out, "figure %s (also .png, .pdf, .csv)\n", saved.Files[0]); err != nil {
			return err
		}
	}
	return nil
}
