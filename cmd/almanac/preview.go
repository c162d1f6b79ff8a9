package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"almanac/job"
	"almanac/recurrence"
)

// maxLine is the size limit of a definition or of a line of a batch, in bytes.
const maxLine = 1 << 20

func newPreview() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "preview FILE|-",
		Short: "Show when a job would run",
		Long: `Print the next occurrences of a job definition, as if it were created now: a
line for each, with the weekday and the time in the zone of the recurrence (or of
--tz), and last the time in UTC. The definition is checked as the API checks a new
job; it may lack its action. The plan of a collection and the egress rules are not
checked.

Without a startTime the first occurrence is the creation of the job itself. A job
that runs once and whose startTime is past runs at once. Notes on standard error
say so, and a line there says in English when the job repeats. The exit code is 1 if the definition is refused, or the job would never
run, because its endTime is past or before the first occurrence.

With -o json, print the answer of POST /previewRecurrence as a line of JSON:
{"occurrences","done","text","notes"}, where occurrences are in UTC, done says that
nothing follows, and text and notes are absent if there are none; or {"error"}.

With --batch, read JSON lines {"id","now","take","properties"} from FILE or standard
input, and write a line of JSON for each, in order: {"id","occurrences","done"} or
{"id","error"}. A line that is refused does not stop the rest.`,
		Example: `  almanac preview examples/last-friday.json
  almanac preview --tz America/New_York examples/last-friday.json
  almanac preview --now 2026-01-01T00:00:00Z --take 3 -o json job.json
  almanac preview --batch < cases.jsonl`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions([]string{"json", "jsonl"}, cobra.ShellCompDirectiveFilterFileExt),
	}
	var f previewFlags
	cmd.Flags().StringVar(&f.now, "now", "", "the time of creation, RFC 3339 (default: the file's \"now\", or now)")
	cmd.Flags().IntVar(&f.take, "take", 0, "how many occurrences to show, 1 to 1000 (default: the file's \"take\", or 10)")
	cmd.Flags().StringVar(&f.zone, "tz", "", "time zone to show times in, such as Europe/Stockholm (default: the recurrence's timeZone, or UTC)")
	cmd.Flags().StringVarP(&f.output, "output", "o", outputText, "text or json")
	cmd.Flags().BoolVar(&f.batch, "batch", false, "read and write JSON lines")
	s := &settings{flags: cmd.Flags()}
	s.offer("tz", recurrence.Locations()...)
	s.offer("output", outputText, outputJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, err := f.options(cmd.Flags().Changed)
		if err != nil {
			return err
		}
		in, err := open(cmd.InOrStdin(), args, f.batch)
		if err != nil {
			return err
		}
		defer in.Close()
		if f.batch {
			return previewBatch(in, cmd.OutOrStdout(), o.now)
		}
		return previewFile(cmd, in, o)
	}
	return cmd
}

// Values of --output.
const (
	outputText = "text"
	outputJSON = "json"
)

// previewFlags are the values of the flags of preview.
type previewFlags struct {
	now, zone, output string
	take              int
	batch             bool
}

// previewOptions are the parsed flags of preview.
type previewOptions struct {
	now   time.Time
	fixed bool           // --now was given, so the file must not have another time
	take  int            // 0: the file's take
	zone  *time.Location // nil: the zone of the recurrence
	json  bool
}

// options parses the flags. The error lists every mistake.
func (f *previewFlags) options(changed func(flag string) bool) (previewOptions, error) {
	o := previewOptions{now: time.Now(), fixed: changed("now"), take: f.take, json: f.output == outputJSON}
	var errs []error
	for _, name := range []string{"now", "take"} {
		if f.batch && changed(name) {
			errs = append(errs, fmt.Errorf("--%s cannot be combined with --batch: give each line its own %q", name, name))
		}
	}
	for _, name := range []string{"tz", "output"} {
		if f.batch && changed(name) {
			errs = append(errs, fmt.Errorf("--%s cannot be combined with --batch, which writes JSON lines in UTC", name))
		}
	}
	var err error
	if o.fixed {
		if o.now, err = time.Parse(time.RFC3339, f.now); err != nil {
			errs = append(errs, fmt.Errorf("--now is %q, want RFC 3339 such as 2026-01-31T08:00:00Z", f.now))
		}
	}
	if changed("take") && (f.take < 1 || f.take > 1000) {
		errs = append(errs, fmt.Errorf("--take is %d, want 1 to 1000", f.take))
	}
	if changed("tz") {
		if o.zone, err = recurrence.LoadLocation(f.zone); err != nil {
			errs = append(errs, fmt.Errorf("--tz: %w", err))
		}
		if o.json {
			errs = append(errs, errors.New("--tz cannot be combined with --output json, whose times are in UTC"))
		}
	}
	if f.output != outputText && f.output != outputJSON {
		errs = append(errs, fmt.Errorf("--output is %q, want %s or %s", f.output, outputText, outputJSON))
	}
	return o, errors.Join(errs...)
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

// previewFile previews the definition in a file.
func previewFile(cmd *cobra.Command, in io.Reader, o previewOptions) error {
	body, err := io.ReadAll(io.LimitReader(in, maxLine))
	if err != nil {
		return err
	}
	p, err := job.ParsePreview(body, o.now)
	if err != nil {
		if o.json {
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
	return previewOne(cmd, p, o)
}

// previewOne prints one preview. The error means that the job would never run.
func previewOne(cmd *cobra.Command, p job.Preview, o previewOptions) error {
	result := p.Run()
	if o.json {
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
	case !o.json:
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
	if o.zone != nil {
		return o.zone
	}
	if d.Recurrence != nil && d.Recurrence.TimeZone != "" {
		if zone, err := recurrence.LoadLocation(d.Recurrence.TimeZone); err == nil { // cannot fail: the definition was checked
			return zone
		}
	}
	return time.UTC
}

// printOccurrences prints a line for each time: the local time in the zone, the zone, and the time in UTC.
func printOccurrences(out io.Writer, times []time.Time, zone *time.Location) error {
	w := bufio.NewWriter(out)
	for _, t := range times {
		fmt.Fprintf(w, "%s %s  %s\n", t.In(zone).Format("Mon 2006-01-02 15:04:05 -07:00"), zone, t.UTC().Format(time.RFC3339))
	}
	return w.Flush()
}

func writeJSON(out io.Writer, result job.PreviewResult) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(result)
}

func previewBatch(in io.Reader, out io.Writer, now time.Time) error {
	lines := bufio.NewReaderSize(in, maxLine)
	w := bufio.NewWriter(out)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for {
		line, err := lines.ReadSlice('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			// The parser gets the part of a too long line that fits the buffer, and refuses it.
			if err := encoder.Encode(previewLine(line, now)); err != nil {
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
func previewLine(line []byte, now time.Time) job.PreviewResult {
	p, err := job.ParsePreview(line, now)
	if err != nil {
		return p.Failed(err)
	}
	result := p.Run()
	result.Text, result.Notes = "", nil
	return result
}
