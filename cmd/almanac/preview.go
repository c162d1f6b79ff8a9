package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"almanac/cmd/almanac/internal/preview"
)

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
	o := c.preview.Options
	if o.Fixed = c.settings.Get("now").Given(); !o.Fixed {
		o.Now = time.Now()
	}
	o.JSON = c.preview.output == outputJSON
	in, err := open(cmd.InOrStdin(), args, c.preview.batch)
	if err != nil {
		return err
	}
	defer in.Close()
	if c.preview.batch {
		return preview.Batch(in, c.out, o.Now)
	}
	return preview.File(in, c.out, cmd.ErrOrStderr(), o)
}

// Values of --output.
const (
	outputText = "text"
	outputJSON = "json"
)

// previewOptions are the values of the flags of preview.
type previewOptions struct {
	preview.Options
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
