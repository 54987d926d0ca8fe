package viz

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSaveIsCompleteAndRepeatable(t *testing.T) {
	f := lengthFigure()
	var first [][]byte
	for range 2 {
		dir := filepath.Join(t.TempDir(), "a", "b")
		saved, err := f.Save(dir, "length", Paper())
		if err != nil {
			t.Fatal(err)
		}
		entries, _ := os.ReadDir(dir)
		if len(entries) != 4 || len(saved.Files) != 4 {
			t.Fatalf("files %v, folder %v: want svg, png, pdf, csv and nothing else", saved.Files, entries)
		}
		var all [][]byte
		for i, start := range []string{"<?xml", "\x89PNG", "%PDF-", "panel,series"} {
			b, err := os.ReadFile(saved.Files[i])
			if err != nil || !bytes.HasPrefix(b, []byte(start)) {
				t.Errorf("%s: %v, starts with %.8q, want %q", saved.Files[i], err, b, start)
			}
			all = append(all, b)
		}
		if first == nil {
			first = all
			continue
		}
		for i := range all {
			if i == 2 && saved.PDFBy != "rsvg-convert" {
				continue // the fall-back dates its files
			}
			if !bytes.Equal(first[i], all[i]) {
				t.Errorf("%s differs from run to run", saved.Files[i])
			}
		}
	}
}

func TestPDFFallsBack(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	f := spectrumFigure()
	pdf, by, err := f.PDF(Paper())
	if err != nil || !bytes.HasPrefix(pdf, []byte("%PDF-")) {
		t.Fatalf("%v, %.8q", err, pdf)
	}
	if !strings.Contains(by, "vgpdf") || !strings.Contains(by, "librsvg2-bin") {
		t.Errorf("%q does not say what wrote the PDF and what is missing", by)
	}
}

func TestPDFSurvivesABrokenConverter(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "rsvg-convert"), []byte("#!/bin/sh\necho no >&2\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	f := spectrumFigure()
	pdf, by, err := f.PDF(Paper())
	if err != nil || len(pdf) == 0 || !strings.Contains(by, "exit status 3 no") {
		t.Errorf("%v, %d bytes, by %q", err, len(pdf), by)
	}
}

func TestSaveLeavesNothingBehind(t *testing.T) {
	f := lengthFigure()
	root := t.TempDir()
	plain := filepath.Join(root, "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	inTheWay := filepath.Join(root, "way")
	if err := os.MkdirAll(filepath.Join(inTheWay, "fig.csv"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, dir, file, want string }{
		{"folder is a file", filepath.Join(plain, "sub"), "fig", "not a directory"},
		{"target is a folder", inTheWay, "fig", "in the way"},
		{"name with a folder", root, "a/b", "plain file name"},
		{"no name", root, "", "plain file name"},
	} {
		_, err := f.Save(c.dir, c.file, Paper())
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with %q", c.name, err, c.want)
		}
	}
	var left []string
	filepath.Walk(root, func(path string, _ os.FileInfo, _ error) error { left = append(left, path); return nil })
	if len(left) != 4 {
		t.Errorf("left behind: %v", left)
	}
}

func TestSaveIntoAnUnwritableFolder(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write anywhere")
	}
	dir := filepath.Join(t.TempDir(), "locked")
	if err := os.Mkdir(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	f := lengthFigure()
	for _, d := range []string{dir, filepath.Join(dir, "new")} {
		if _, err := f.Save(d, "fig", Paper()); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%s: error %v, want permission denied", d, err)
		}
	}
}

func TestCSV(t *testing.T) {
	f := lengthFigure()
	b, err := f.CSV()
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 1+5*4+1 {
		t.Errorf("%d lines, want a head, 5 series of 4 points and a published one", len(lines))
	}
	deltanet := lines[5]
	if deltanet[1] != "deltanet" || deltanet[4] != "1x" || deltanet[5] != "3" || deltanet[6] != "2" || deltanet[10] != "NaN" {
		t.Errorf("line %v: want deltanet at 1x with n 3, 2 diverged, the first run NaN", deltanet)
	}
	last := lines[len(lines)-1]
	if last[2] == "" || last[9] != "" {
		t.Errorf("line %v: want a source and no interval", last)
	}
}
