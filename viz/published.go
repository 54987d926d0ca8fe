package viz

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

//go:embed published.csv
var publishedFile string

// PublishedValue is one number of a paper, as it is printed there.
type PublishedValue struct {
	Preset, Series string
	At             string // a category or a position on the x axis; "" for a statement about all of it
	Value          float64
	Unit           string
	Source         string // arXiv number, with the table or figure where it is known
	Setting        string // what it was measured on, as far as is known
}

var readPublished = sync.OnceValues(func() ([]PublishedValue, error) {
	return parsePublished(publishedFile)
})

func parsePublished(file string) ([]PublishedValue, error) {
	lines, err := csv.NewReader(strings.NewReader(file)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("published.csv: %w", err)
	}
	var out []PublishedValue
	for i, l := range lines[min(1, len(lines)):] {
		v := PublishedValue{Preset: l[0], Series: l[1], At: l[2], Unit: l[4], Source: l[5], Setting: l[6]}
		if v.Value, err = strconv.ParseFloat(l[3], 64); err != nil || v.Source == "" || v.Setting == "" {
			return nil, fmt.Errorf("published.csv line %d: value %q, source %q, setting %q: must be a number with where it is from", i+2, l[3], v.Source, v.Setting)
		}
		out = append(out, v)
	}
	return out, nil
}

// Published lists the papers' numbers that a preset shows.
func Published(preset string) []PublishedValue {
	all, err := readPublished()
	if err != nil {
		panic(err) // the file is part of the program
	}
	var out []PublishedValue
	for _, v := range all {
		if v.Preset == preset {
			out = append(out, v)
		}
	}
	return out
}

// value is in the units of axes: accuracy as a fraction.
func (v PublishedValue) value() float64 {
	if v.Unit != "%" {
		return v.Value
	}
	// Read as a decimal: 73.84/100 would not be 0.7384.
	x, _ := strconv.ParseFloat(strconv.FormatFloat(v.Value, 'f', -1, 64)+"e-2", 64)
	return x
}
