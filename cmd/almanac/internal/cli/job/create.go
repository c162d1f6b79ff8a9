package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/cmd/almanac/internal/cli/source"
	"almanac/cmd/almanac/internal/flags"
)

type createOptions struct {
	definition
	file     string
	dryRun   bool
	disabled bool
}

func newCreate(getenv base.Lookup) *cobra.Command {
	o := new(createOptions)
	more := append(o.groups(), flags.Group{Name: "Job", Settings: []*flags.Setting{
		{Flag: "file", Short: "f", Value: flags.File(&o.file),
			Help: "File with the job in YAML or JSON, or - for standard input. Flags win over it."},
		{Flag: "disabled", Value: flags.Bool(&o.disabled), Help: "Nothing runs until it is enabled."},
		{Flag: "dry-run", Value: flags.Bool(&o.dryRun), Help: "Show when it would run, and make nothing."},
	}})
	return base.Command(&cobra.Command{
		Use:     "create NAME [URI]",
		Aliases: []string{"add", "new"},
		Short:   "Make a job",
		Long: `Make a job that calls an address, or any job from a file. A name that is taken is refused;
"almanac job edit" changes a job. Without --start, a job that repeats runs for the first
time at once.`,
		Example: `  almanac job create hello https://example.com/ --every 5m
  almanac job create report https://example.com/report -X POST -d '{"kind":"daily"}' \
      --every day --hours 9 --minutes 30 --time-zone Europe/Berlin --start 2026-12-01
  almanac job create summary https://example.com/ --every "last Friday 17:15 Europe/Stockholm"
  almanac job create invoices https://example.com/ --every month --monthly "last friday" --hours 17
  almanac job create nightly -f job.yaml --disabled`,
		Args: cobra.RangeArgs(1, 2),
	}, getenv, more, func(ctx context.Context, s *base.Session, args []string) error {
		if len(args) == 2 {
			if s.Flags.Get("uri").Given() {
				return exit.With(exit.Usage, errors.New("the URI is there twice: as an argument and in --uri"))
			}
			o.uri = args[1]
		}
		return runCreate(ctx, s, o, args[0])
	})
}

func runCreate(ctx context.Context, s *base.Session, o *createOptions, arg string) error {
	o.set = s.Flags
	n, err := s.Job(arg)
	if err != nil {
		return err
	}
	if err := o.read(ctx, s); err != nil {
		return err
	}
	body, explain, err := o.whole(s)
	if err != nil {
		return err
	}
	if o.dryRun {
		return explain(previewNew(ctx, s, n, body))
	}
	made, err := s.Client.PutJobBody(ctx, n.Collection, n.Job, body, client.IfAbsent())
	if client.IsChanged(err) {
		return exit.With(exit.Refused, fmt.Errorf("the job %s exists: \"almanac job edit %s\" changes it", n, arg))
	}
	if client.IsNotFound(err) {
		return s.MissingCollection(ctx, n.Collection, err)
	}
	if err != nil {
		return explain(err)
	}
	if made.Warning != "" {
		s.Say("Warning: %s", made.Warning)
	}
	if !s.Format.ForPeople() {
		return output.One(&s.Printer, jobView, made)
	}
	return s.Done("job", made.Name, "created"+nextText(s, made))
}

// nextText returns when a job runs next, as the end of a sentence.
func nextText(s *base.Session, j client.Job) string {
	st := j.Properties.Status
	switch {
	case st == nil:
		return ""
	case !st.NextExecutionTime.IsZero():
		return ", runs next " + s.Time(st.NextExecutionTime)
	}
	return ", runs no more: " + output.Line(st.Reason)
}

// whole returns the body of a new job, and what adds to an error where in the file it is.
func (o *createOptions) whole(s *base.Session) (body map[string]any, explain func(error) error, err error) {
	explain = func(err error) error { return err }
	body = map[string]any{}
	switch {
	case o.file != "":
		d, err := source.Read(o.file, s.In)
		if err != nil {
			return nil, nil, err
		}
		explain = d.Explain
		if body, err = objectOf(json.RawMessage(d.JSON)); err != nil {
			return nil, nil, err
		}
		if err := isBody(d, body); err != nil {
			return nil, nil, err
		}
	case o.uri == "":
		return nil, nil, exit.With(exit.Usage, errors.New("say what it calls, as NAME URI, or give the job in a file with -f"))
	}
	patch, err := o.patch()
	if err != nil {
		return nil, nil, err
	}
	if o.file == "" && lookUp(patch, inRequest+"method") == nil {
		patch.put(inRequest+"method", map[bool]string{true: "POST", false: "GET"}[o.body != ""])
	}
	if o.disabled {
		patch.put("properties.state", "disabled")
	}
	changes, err := objectOf(patch)
	if err != nil {
		return nil, nil, err
	}
	return applied(body, changes), explain, nil
}

// isBody returns an error if a document is not the body of a job, but perhaps a job file.
func isBody(d *source.Document, body map[string]any) error {
	for member := range body {
		if strings.EqualFold(member, "properties") {
			return nil
		}
	}
	return exit.With(exit.Usage, fmt.Errorf("%[1]s has no properties, as \"almanac job get -o yaml\" has them. If it is a job file: "+
		"almanac apply -f %[1]s", d.Name))
}

// previewNew shows when a job that is not made would run.
func previewNew(ctx context.Context, s *base.Session, n base.Name, body map[string]any) error {
	properties, _ := body["properties"].(map[string]any)
	asked := map[string]any{}
	for _, member := range []string{"startTime", "action", "recurrence", "state"} {
		if value, there := properties[member]; there {
			asked[member] = value
		}
	}
	found, err := s.Client.PreviewBody(ctx, map[string]any{"properties": asked})
	if err != nil {
		return err
	}
	if !s.Format.ForPeople() {
		return s.Value(found, n.String())
	}
	for _, note := range append([]string{found.Text}, found.Notes...) {
		if note != "" {
			s.Say("%s", note)
		}
	}
	return output.List(&s.Printer, timeView(s), found.Occurrences)
}

func timeView(s *base.Session) output.View[time.Time] {
	return output.View[time.Time]{
		Name: func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		Columns: []output.Column[time.Time]{
			{Head: "DUE", Of: func(t time.Time) output.Cell { return output.Cell{Text: s.Time(t)} }},
			{Head: "UTC", Of: func(t time.Time) output.Cell { return output.Cell{Text: t.UTC().Format(time.RFC3339)} }},
		},
	}
}
