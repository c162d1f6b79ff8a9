package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"almanac/job"
	"almanac/job/input"
	"almanac/recurrence"
)

// maxLine is the size limit of a definition or of a line of a batch, in bytes.
const maxLine = 1 << 20

func newPreview(getenv lookup) *cobra.Command {
	return command(&cobra.Command{
		Use:   "preview FILE|-",
		Short: "Show when a job would run",
		Long: `Print the next occurrences of a job definition, as if the job were created now: a
line for each, with the weekday and the time in the time zone, and last the time in
UTC. Notes on standard error say in English when the job repeats, and what may
surprise: without a startTime the first occurrence is the creation of the job; a job
that runs once and whose startTime is past runs at once.

The definition is checked as the API checks a new job; only the action may be absent.
The plan of a collection and the egress rules are not checked. The exit status is 1 if
the definition is refused, or if the job would never run.

With -o json, print the answer of POST /previewRecurrence as a line of JSON:
{"occurrences","done","text","notes"}, or {"error"}. Occurrences are in UTC; done means
that nothing follows; text and notes may be absent.

With --batch, read JSON lines {"id","now","take","properties"} from FILE or standard
input, and write a line of JSON for each, in order: {"id","occurrences","done"} or
{"id","error"}. A line that is refused does not stop the rest.`,
		Example: `  almanac preview examples/last-friday.json
  almanac preview --tz America/New_York examples/last-friday.json
  almanac preview --now 2026-01-01T00:00:00Z --take 3 -o json job.json
  almanac preview --batch < cases.jsonl`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions([]string{"json", "jsonl"}, cobra.ShellCompDirectiveFilterFileExt),
	}, getenv, runPreview)
}

func runPreview(cmd *cobra.Command, args []string, c *config) error {
	o := c.preview
	if o.fixed = c.settings.Get("now").Given(); !o.fixed {
		o.now = time.Now()
	}
	in, err := open(cmd.InOrStdin(), args, o.batch)
	if err != nil {
		return err
	}
	defer in.Close()
	if o.batch {
		return previewBatch(in, c.out, o.now)
	}
	return previewFile(cmd, in, o)
}

// Values of --output.
const (
	outputText = "text"
	outputJSON = "json"
)

// previewOptions are the values of the flags of preview.
type previewOptions struct {
	now    time.Time
	fixed  bool           // --now was given, so the file must not have another time
	take   int            // 0: the file's take
	zone   *time.Location // nil: the zone of the recurrence
	output string
	batch  bool
}

// checkBatch checks which flags were given together.
func (c *config) checkBatch() error {
	var errs []error
	for _, name := range []string{"now", "take", "tz", "output"} {
		switch {
		case !c.preview.batch || !c.settings.Get(name).Given():
		case name == "now" || name == "take":
			errs = append(errs, fmt.Errorf("--%s cannot be combined with --batch: give each line its own %q", name, name))
		default:
			errs = append(errs, fmt.Errorf("--%s cannot be combined with --batch, which writes JSON lines in UTC", name))
		}
	}
	if c.settings.Get("tz").Given() && c.preview.output == outputJSON {
		errs = append(errs, errors.New("--tz cannot be combined with --output json, whose times are in UTC"))
	}
	return errors.Join(errs...)
}

// open opens the named file, or standard input.
func open(stdin io.Reader, args []string, batch bool) (io.ReadCloser, error) {
	switch {
	case len(args) == 0 && !batch:
		return nil, errors.New("name a file with a job definition, or - for standard input")
	case len(args) == 0 || args[0] == "-":
		return io.NopCloser(stdin), nil
	}
	return os.Open(args[0])
}

// previewFile previews the definition in a file. The error may mean that the job would never run.
func previewFile(cmd *cobra.Command, in io.Reader, o previewOptions) error {
	body, err := io.ReadAll(io.LimitReader(in, maxLine))
	if err != nil {
		return err
	}
	p, err := input.ParsePreview(body, o.now)
	if err != nil {
		if o.output == outputJSON {
			err = errors.Join(err, writeJSON(cmd.OutOrStdout(), p.Failed(err)))
		}
		return err
	}
	if o.fixed && !p.Now.Equal(o.now) {
		return errors.New(`--now cannot be combined with a file that has its own "now": leave out one of them`)
	}
	if o.take != 0 {
		p.Take = o.take
	}
	result := p.Run()
	if o.output == outputJSON {
		if err := writeJSON(cmd.OutOrStdout(), result); err != nil {
			return err
		}
	} else if err := printOccurrences(cmd.OutOrStdout(), result.Occurrences, o.zoneOf(p.Definition)); err != nil {
		return err
	}
	switch {
	case result.Error != nil:
		return errors.New(result.Error.Message)
	case len(result.Occurrences) == 0:
		return errors.New(strings.Join(result.Notes, " "))
	case o.output != outputJSON:
		if result.Text != "" {
			fmt.Fprintln(cmd.ErrOrStderr(), "Schedule:", result.Text)
		}
		for _, note := range result.Notes {
			fmt.Fprintln(cmd.ErrOrStderr(), "Note:", note)
		}
	}
	return nil
}

// zoneOf returns the zone in which a job's times are shown.
func (o previewOptions) zoneOf(d job.Definition) *time.Location {
	if o.zone == nil && d.Recurrence != nil {
		if zone, err := recurrence.LoadLocation(d.Recurrence.TimeZone); err == nil { // it fails if there is no zone
			return zone
		}
	}
	return cmp.Or(o.zone, time.UTC)
}

// printOccurrences prints a line for each time: the local time in the zone, the zone, and the time in UTC.
func printOccurrences(out io.Writer, times []time.Time, zone *time.Location) error {
	w := bufio.NewWriter(out)
	for _, t := range times {
		fmt.Fprintf(w, "%s %s  %s\n", t.In(zone).Format("Mon 2006-01-02 15:04:05 -07:00"), zone, t.UTC().Format(time.RFC3339))
	}
	return w.Flush()
}

func writeJSON(out io.Writer, result input.PreviewResult) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(result)
}

func previewBatch(in io.Reader, out io.Writer, now time.Time) error {
	lines := bufio.NewReaderSize(in, maxLine)
	w := bufio.NewWriter(out)
	for {
		line, err := lines.ReadSlice('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			// The parser gets the part of a too long line that fits the buffer, and refuses it.
			if err := writeJSON(w, previewLine(line, now)); err != nil {
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

// previewLine previews one line of a batch, without the text and the notes, which are for people.
func previewLine(line []byte, now time.Time) input.PreviewResult {
	p, err := input.ParsePreview(line, now)
	if err != nil {
		return p.Failed(err)
	}
	result := p.Run()
	result.Text, result.Notes = "", nil
	return result
}
