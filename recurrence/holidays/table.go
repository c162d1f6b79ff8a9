package holidays

import (
	"bufio"
	"bytes"
	"compress/flate"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"almanac/recurrence/calendars"
)

// packed has the tables, written by recurrence/internal/holidays and compressed by DEFLATE. Numbers are unsigned
// varints, texts have their length before them, and lists their number of members:
//
//	first year, last year
//	categories: a text each
//	names:      own text, English text ("": the same)
//	rows:       dates, each as days since the one before, the first since 1970-01-01
//	holidays:   number of the name, number of the row
//	places:     code, name, days of the weekend (bit 0 is Sunday), days until which all is known since 1970-01-01 (0: all
//	            years), make-up days as a row is, and lists of categories: number of the category, numbers of holidays
//
//go:embed tables.bin
var packed []byte

// source has, in a line each: the version of the package holidays, the one of the distribution that it was taken from,
// the version of date-holidays that it was compared with, and the day on which that was done.
//
//go:embed source.txt
var source string

// A named is a holiday: its name and its dates.
type named struct {
	own, english string
	dates        []calendars.Date
}

// A place is a country or a part of one.
type place struct {
	code, name string
	weekend    []time.Weekday
	known      calendars.Date // 0: all years of the tables
	makeUp     []calendars.Date
	categories map[string][]*named
}

type tables struct {
	first, last int
	categories  []string
	places      []*place // by code
}

var load = sync.OnceValue(func() *tables {
	t, err := read(flate.NewReader(bytes.NewReader(packed)))
	if err != nil {
		panic("the embedded holidays: " + err.Error()) //nolint:forbidigo // a test reads them
	}
	return t
})

// A decoder reads the parts of the tables. After an error all that it returns is empty.
type decoder struct {
	*bufio.Reader

	err error
}

func (d *decoder) number() int {
	n, err := binary.ReadUvarint(d)
	if d.err == nil {
		d.err = err
	}
	if d.err != nil || n > 1<<24 {
		return 0
	}
	return int(n)
}

func (d *decoder) text() string {
	b := make([]byte, d.number())
	if _, err := io.ReadFull(d, b); d.err == nil {
		d.err = err
	}
	return string(b)
}

func (d *decoder) row() []calendars.Date {
	dates, at := make([]calendars.Date, d.number()), calendars.Date(0)
	for i := range dates {
		at += calendars.Date(d.number())
		dates[i] = at
	}
	return dates
}

func list[T any](d *decoder, one func() T) []T {
	all := make([]T, d.number())
	for i := range all {
		all[i] = one()
	}
	return all
}

func read(r io.Reader) (*tables, error) {
	d := &decoder{Reader: bufio.NewReader(r)}
	t := &tables{first: d.number(), last: d.number()}
	t.categories = list(d, d.text)
	names := list(d, func() [2]string { return [2]string{d.text(), d.text()} })
	rows := list(d, d.row)
	known := list(d, func() *named {
		name, row := d.number(), d.number()
		if name >= len(names) || row >= len(rows) {
			d.err = fmt.Errorf("a holiday has name %d of %d and row %d of %d", name, len(names), row, len(rows))
			return nil
		}
		return &named{names[name][0], names[name][1], rows[row]}
	})
	t.places = list(d, func() *place {
		p := &place{code: d.text(), name: d.text(), categories: map[string][]*named{}}
		p.weekend = weekdays(d.number())
		p.known, p.makeUp = calendars.Date(d.number()), d.row()
		for range d.number() {
			category := d.number()
			all := list(d, func() *named { return known[min(d.number(), len(known)-1)] })
			p.categories[t.categories[min(category, len(t.categories)-1)]] = all
		}
		return p
	})
	return t, d.err
}

// weekdays returns the days of a set, from Monday on.
func weekdays(set int) []time.Weekday {
	days := []time.Weekday{}
	for i := range 7 {
		if day := time.Weekday((i + 1) % 7); set&(1<<day) != 0 {
			days = append(days, day)
		}
	}
	return days
}

// A Source says where the tables come from.
type Source struct {
	Version  string // of the package holidays
	Package  string // of the distribution
	Compared string // the version of date-holidays
	Checked  string // when that was done, as 2026-01-31
}

// From returns where the tables come from.
func From() Source {
	lines := strings.Split(strings.TrimSpace(source), "\n")
	return Source{lines[0], lines[1], lines[2], lines[3]}
}
