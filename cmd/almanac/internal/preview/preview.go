package preview

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"almanac/cmd/almanac/internal/settings"
	"almanac/job"
	"almanac/job/input"
	jobpreview "almanac/job/preview"
	"almanac/recurrence"
)

// MaxSize is the size limit of a definition or of a line of a batch, in bytes.
const MaxSize = 1 << 20

// options say how a definition is previewed.
type options struct {
	settings.Preview
	fixed bool // a definition with another time is an error

	calendars map[string]job.Calendar
}

func (o options) json() bool { return o.Output == settings.OutputJSON }

// file writes when the definition in a file would run to out, and notes on it to notes. The error may mean that
// the job would never run.
func file(in io.Reader, out, notes io.Writer, o options) error {
	body, err := io.ReadAll(io.LimitReader(in, MaxSize))
	if err != nil {
		return err
	}
	p, err := input.ParsePreview(body, o.Now)
	if err != nil {
		if o.json() {
			err = errors.Join(err, writeJSON(out, p.Failed(err)))
		}
		return err
	}
	if o.fixed && !p.Now.Equal(o.Now) {
		return errors.New(`--now cannot be combined with a file that has its own "now": leave out one of them`)
	}
	if o.Take != 0 {
		p.Take = o.Take
	}
	result := o.run(p)
	if o.json() {
		if err := writeJSON(out, result); err != nil {
			return err
		}
	} else {
		other, err := o.compare(body, len(result.Occurrences))
		if err != nil {
			return fmt.Errorf("with the time zones of %s: %w", o.Compare.Release(), err)
		}
		if err := printOccurrences(out, &result, o.zoneOf(p.Definition), other); err != nil {
			return err
		}
	}
	switch {
	case result.Error != nil:
		return errors.New(result.Error.Message)
	case len(result.Occurrences) == 0:
		return errors.New(strings.Join(result.Notes, " "))
	case !o.json():
		if result.Text != "" {
			fmt.Fprintln(notes, "Schedule:", result.Text)
		}
		for _, note := range result.Notes {
			fmt.Fprintln(notes, "Note:", note)
		}
	}
	return nil
}

// A comparison is when a job would run with other time zones.
type comparison struct {
	release     string
	occurrences []time.Time
}

// at returns what to show beside the n-th occurrence, which is at a time: nothing if it is the same.
func (c *comparison) at(n int, t time.Time) string {
	switch {
	case c == nil || n < len(c.occurrences) && c.occurrences[n].Equal(t):
		return ""
	case n >= len(c.occurrences):
		return "  " + c.release + ": none"
	}
	return "  " + c.release + ": " + c.occurrences[n].UTC().Format(time.RFC3339)
}

// compare returns when the definition would run with the other time zones; nil if there are none. Times in it without
// an offset are read in these, too.
func (o options) compare(body []byte, take int) (*comparison, error) {
	if o.Compare == nil {
		return nil, nil
	}
	defer recurrence.UseZones(recurrence.UseZones(o.Compare))
	p, err := input.ParsePreview(body, o.Now)
	if err != nil {
		return nil, err
	}
	p.Take = max(take, 1)
	result := o.run(p)
	if result.Error != nil {
		return nil, errors.New(result.Error.Message)
	}
	return &comparison{o.Compare.Release(), result.Occurrences}, nil
}

// zoneOf returns the zone in which a job's times are shown.
func (o options) zoneOf(d job.Definition) *time.Location {
	if o.Zone == nil && d.Recurrence != nil {
		if zone, err := recurrence.LoadLocation(d.Recurrence.TimeZone); err == nil { // it fails if there is no zone
			return zone
		}
	}
	return cmp.Or(o.Zone, time.UTC)
}

// printOccurrences prints a line for each occurrence: the local time in the zone, the zone, and the time in UTC; the
// other time if that differs; and from where and why calendars move it. What they skip has lines between these, without
// the time in UTC.
func printOccurrences(out io.Writer, r *jobpreview.Result, zone *time.Location, other *comparison) error {
	w := bufio.NewWriter(out)
	const form = "Mon 2006-01-02 15:04:05 -07:00"
	rows := rowsOf(r.Adjustments)
	skip := func(until time.Time) {
		for len(rows) > 0 && (until.IsZero() || rows[0].first.Nominal.Before(until)) {
			fmt.Fprintf(w, "%s %s  %s\n", rows[0].first.Nominal.In(zone).Format(form), zone, rows[0])
			rows = rows[1:]
		}
	}
	for n, t := range r.Occurrences {
		skip(t)
		fmt.Fprintf(w, "%s %s  %s%s", t.In(zone).Format(form), zone, t.UTC().Format(time.RFC3339), other.at(n, t))
		moved := func(a jobpreview.Adjustment) bool { return a.Due.Equal(t) }
		if i := slices.IndexFunc(r.Adjustments, moved); i >= 0 {
			fmt.Fprint(w, "  ", r.Adjustments[i])
		}
		fmt.Fprintln(w)
	}
	skip(time.Time{})
	return w.Flush()
}

func writeJSON(out io.Writer, result jobpreview.Result) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(result)
}

// batch previews JSON lines, and writes a line for each.
func batch(in io.Reader, out io.Writer, o options) error {
	lines := bufio.NewReaderSize(in, MaxSize)
	w := bufio.NewWriter(out)
	for {
		line, err := lines.ReadSlice('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			// The parser gets the part of a too long line that fits the buffer, and refuses it.
			if err := writeJSON(w, previewed(line, o)); err != nil {
				return err
			}
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = lines.ReadSlice('\n')
		}
		if lines.Buffered() == 0 { // a caller that sends one line at a time waits for its answer
			if err := w.Flush(); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return w.Flush()
		case err != nil:
			return fmt.Errorf("read the batch: %w", err)
		}
	}
}

// previewed previews one line of a batch, without the text and the notes, which are for people.
func previewed(line []byte, o options) jobpreview.Result {
	p, err := input.ParsePreview(line, o.Now)
	if err != nil {
		return p.Failed(err)
	}
	result := o.run(p)
	result.Text, result.Notes = "", nil
	return result
}
