package main

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"
)

// A writer writes tables in the form that recurrence/holidays reads, each name, row and holiday once.
type writer struct {
	out []byte

	names, rows, holidays numbered
}

// numbered are texts by number.
type numbered struct {
	all    []string
	number map[string]int
}

func (n *numbered) of(text string) int {
	if i, known := n.number[text]; known {
		return i
	}
	if n.number == nil {
		n.number = map[string]int{}
	}
	n.number[text] = len(n.all)
	n.all = append(n.all, text)
	return len(n.all) - 1
}

func appendNumber(to []byte, n int) []byte { return binary.AppendUvarint(to, uint64(n)) }

func appendText(to []byte, text string) []byte { return append(appendNumber(to, len(text)), text...) }

func days(date string) (int, error) {
	t, err := time.Parse(time.DateOnly, date)
	return int(t.Unix() / 86400), err
}

func appendRow(to []byte, dates []string) ([]byte, error) {
	to = appendNumber(to, len(dates))
	before := 0
	for _, date := range dates {
		day, err := days(date)
		if err != nil {
			return nil, err
		}
		to, before = appendNumber(to, day-before), day
	}
	return to, nil
}

// holiday returns the number of a holiday.
func (w *writer) holiday(h holiday) (int, error) {
	english := h.english
	if english == h.own {
		english = ""
	}
	row, err := appendRow(nil, h.dates)
	if err != nil {
		return 0, err
	}
	name := w.names.of(string(appendText(appendText(nil, h.own), english)))
	return w.holidays.of(string(appendNumber(appendNumber(nil, name), w.rows.of(string(row))))), nil
}

func (w *writer) place(p *place, categories []string) error {
	weekend := 0
	for _, day := range p.Weekend {
		weekend |= 1 << ((day + 1) % 7)
	}
	w.out = appendNumber(appendText(appendText(w.out, p.Code), p.Name), weekend)
	known := 0
	var err error
	if p.Known != "" {
		if known, err = days(p.Known); err != nil {
			return err
		}
	}
	w.out = appendNumber(w.out, known)
	makeUp, err := appendRow(nil, p.MakeUp)
	if err != nil {
		return err
	}
	w.out = appendNumber(append(w.out, makeUp...), len(p.Categories))
	for _, category := range slices.Sorted(maps.Keys(p.Categories)) {
		all := p.Categories[category]
		w.out = appendNumber(appendNumber(w.out, slices.Index(categories, category)), len(all))
		for _, h := range all {
			number, err := w.holiday(h)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", p.Code, h.own, err)
			}
			w.out = appendNumber(w.out, number)
		}
	}
	return nil
}

// packed returns the tables, compressed.
func packed(all *found, first, last int) ([]byte, error) {
	names := map[string]bool{}
	for _, p := range all.Places {
		for category := range p.Categories {
			names[category] = true
		}
	}
	categories := slices.Sorted(maps.Keys(names))
	w := &writer{}
	for _, p := range all.Places {
		if err := w.place(p, categories); err != nil {
			return nil, err
		}
	}
	head := appendNumber(appendNumber(nil, first), last)
	head = appendNumber(head, len(categories))
	for _, category := range categories {
		head = appendText(head, category)
	}
	for _, list := range []numbered{w.names, w.rows, w.holidays} {
		head = appendNumber(head, len(list.all))
		for _, text := range list.all {
			head = append(head, text...)
		}
	}
	return compressed(append(appendNumber(head, len(all.Places)), w.out...))
}
