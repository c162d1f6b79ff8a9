// Package preview is the command that shows when a job would run.
package preview

import (
	"errors"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"almanac/cmd/almanac/internal/settings"
	"almanac/cmd/almanac/internal/wiring"
	"almanac/internal/build"
)

// Command returns the command preview of a program that was built from that.
func Command(getenv settings.Lookup, built build.Info) *cobra.Command {
	return wiring.Command(&cobra.Command{
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

The calendars that a job names come from files, by --calendar or as "calendars" in the
definition: no server is asked. A run that they move says from where and why, and runs
that they skip have a line of their own.

With -o json, print the answer of POST /previewRecurrence as a line of JSON:
{"occurrences","done","adjustments","text","notes"}, or {"error"}. Occurrences are in UTC;
done means that nothing follows; adjustments, text and notes may be absent.

With --compare-zoneinfo, a line whose time would be another one with these time zones
has that time at its end: so a new release can be tried before it is used.

With --batch, read JSON lines {"id","now","take","properties","calendars"} from FILE or standard
input, and write a line of JSON for each, in order: {"id","occurrences","done"}, with
"adjustments" if there are some, or {"id","error"}. A line that is refused does not stop the rest.`,
		Example: `  almanac preview examples/last-friday.json
  almanac preview --tz America/New_York examples/last-friday.json
  almanac calendar make SE 2026..2031 | almanac preview --calendar SE=- job.json
  almanac preview --now 2026-01-01T00:00:00Z --take 3 -o json job.json
  almanac preview --batch < cases.jsonl`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions([]string{"json", "jsonl"}, cobra.ShellCompDirectiveFilterFileExt),
	}, getenv, built, run)
}

func run(cmd *cobra.Command, args []string, p *wiring.Process) error {
	o := options{Preview: p.Preview}
	if o.fixed = p.Setting("now").Given(); !o.fixed {
		o.Now = time.Now()
	}
	in, err := open(cmd.InOrStdin(), args, p.Preview.Batch)
	if err != nil {
		return err
	}
	defer in.Close()
	fromStdin := len(args) == 0 || args[0] == "-"
	if o.calendars, err = calendarsOf(p.Preview.Calendars, cmd.InOrStdin(), fromStdin); err != nil {
		return err
	}
	if p.Preview.Batch {
		return batch(in, p.Out, o)
	}
	return file(in, p.Out, cmd.ErrOrStderr(), o)
}

// open opens the named file, or standard input.
func open(stdin io.Reader, args []string, isBatch bool) (io.ReadCloser, error) {
	switch {
	case len(args) == 0 && !isBatch:
		return nil, errors.New("name a file with a job definition, or - for standard input")
	case len(args) == 0 || args[0] == "-":
		return io.NopCloser(stdin), nil
	}
	return os.Open(args[0])
}
