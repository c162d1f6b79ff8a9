package job

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/cmd/almanac/internal/flags"
)

func newGet(getenv base.Lookup) *cobra.Command {
	var filter string
	return base.Command(&cobra.Command{
		Use:     "get NAME…",
		Aliases: []string{"show"},
		Short:   "Show jobs: what they do, when, and how they stand",
		Long: `Show jobs: what they do, when, and how they stand. One job is an object in JSON and YAML,
several are a list, and so is what a filter finds. Secrets are never shown.`,
		Example: `  almanac job get hello
  almanac job get hello -o yaml
  almanac job get hello -o jsonpath=properties.status.nextExecutionTime
  almanac job get --filter "lastOutcome eq Failed" -o json`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: base.CompleteJobs(getenv, 0),
	}, getenv, []flags.Group{{Name: "Jobs", Settings: []*flags.Setting{
		{Flag: "filter", Value: flags.Text("conditions", &filter), Help: filterHelp},
	}}}, func(ctx context.Context, s *base.Session, args []string) error {
		return runGet(ctx, s, filter, args)
	})
}

func runGet(ctx context.Context, s *base.Session, filter string, args []string) error {
	names, err := namedBy(ctx, s, filter, args)
	if err != nil {
		return err
	}
	var all []client.Job
	for _, n := range names {
		found, err := s.Client.Job(ctx, n.Collection, n.Job)
		if err != nil {
			return s.Missing(ctx, n, err)
		}
		all = append(all, found)
	}
	switch {
	case !s.Format.ForPeople() && len(args) == 1 && filter == "":
		if s.Format.YAML() { // for edit -f
			if _, err := io.WriteString(s.Out, etagLine(all[0])); err != nil {
				return err
			}
		}
		return output.One(&s.Printer, jobView, all[0])
	case !s.Format.ForPeople():
		return output.List(&s.Printer, jobView, all)
	}
	for i, one := range all {
		if i > 0 {
			_, _ = s.Out.Write([]byte("\n"))
		}
		if err := s.Pairs(pairsOf(s, one)); err != nil {
			return err
		}
	}
	return nil
}

// namedBy returns the names of the jobs of a command line.
func namedBy(ctx context.Context, s *base.Session, filter string, args []string) (names []base.Name, err error) {
	switch {
	case len(args) == 0 && filter == "":
		return nil, exit.With(exit.Usage, errors.New("name a job, or give a --filter; \"almanac job list\" has the names"))
	case len(args) > 0 && filter != "":
		return nil, exit.With(exit.Usage, errors.New("names and --filter exclude each other"))
	}
	for _, arg := range args {
		n, err := s.Job(arg)
		if err != nil {
			return nil, err
		}
		names = append(names, n)
	}
	if filter == "" {
		return names, nil
	}
	found, err := summaries(ctx, s, client.InCollection(s.Collection), client.Search{Filter: filter}, 0)
	for _, one := range found {
		collection, name := client.NamesOf(one.Name)
		names = append(names, base.Name{Collection: collection, Job: name})
	}
	return names, err
}

var jobView = output.View[client.Job]{Name: func(j client.Job) string { return j.Name }}

// pruneAt returns when a job deletes itself; zero if it does not.
func pruneAt(st *client.JobStatus) time.Time {
	if st == nil {
		return time.Time{}
	}
	return st.PruneAt
}

// pairsOf returns what is shown of a job.
func pairsOf(s *base.Session, j client.Job) []output.Pair {
	p := &j.Properties
	pairs := []output.Pair{
		{Head: "Name", Cell: output.Cell{Text: j.Name, Mark: output.Bold}},
		{Head: "State", Cell: stateCell(p.State, false, pruneAt(p.Status))},
	}
	add := func(head, text string) { pairs = append(pairs, output.Pair{Head: head, Cell: output.Cell{Text: text}}) }
	add("Action", actionText(&p.Action))
	add("On failure", retryText(&p.Action))
	add("Starts", startText(s, p.StartTime))
	add("Repeats", recurrenceText(p.Recurrence))
	st := p.Status
	if st == nil {
		return pairs
	}
	add("Next", s.Time(st.NextExecutionTime))
	add("Why nothing", st.Reason)
	add("Owner", st.Owner)
	add("Disabled", PauseText(s, st.Disabled))
	for _, due := range st.Skips {
		add("Skipped", s.Time(due))
	}
	for _, w := range st.SkipWindows {
		add("Skipped", "from "+s.Time(w.From)+" until "+s.Time(w.Until))
	}
	if o := st.LastOutcome; o != nil {
		cell := outcomeCell(o.Status)
		cell.Text += ", due " + s.Time(o.ExpectedExecutionTime)
		pairs = append(pairs, output.Pair{Head: "Last", Cell: cell})
	}
	add("Last success", s.Time(st.LastSuccessTime))
	if st.LastError != nil {
		add("Last error", st.LastError.Message)
	}
	if r := st.Retry; r != nil {
		add("Retry", "attempt "+strconv.Itoa(r.Attempt)+" of "+strconv.Itoa(r.MaxAttempts)+" "+s.Time(r.NextAttemptTime))
	}
	add("Runs", strconv.Itoa(st.ExecutionCount)+", of which "+strconv.Itoa(st.FaultedCount)+" failed")
	return pairs
}

func startText(s *base.Session, t client.Time) string {
	if at := t.Instant(); !at.IsZero() {
		return s.Time(at)
	}
	return string(t)
}

func actionText(a *client.Action) string {
	switch {
	case a.Request != nil:
		method := a.Request.Method
		if method == "" {
			method = "GET"
		}
		return method + " " + a.Request.URI
	case a.QueueMessage != nil:
		return a.Type + " " + a.QueueMessage.StorageAccount + "/" + a.QueueMessage.QueueName
	case a.ServiceBusQueueMessage != nil:
		return a.Type + " " + a.ServiceBusQueueMessage.Namespace + "/" + a.ServiceBusQueueMessage.QueueName
	case a.ServiceBusTopicMessage != nil:
		return a.Type + " " + a.ServiceBusTopicMessage.Namespace + "/" + a.ServiceBusTopicMessage.TopicPath
	}
	return a.Type
}

func retryText(a *client.Action) string {
	text := strconv.Itoa(a.RetryPolicy.Attempts()) + " attempts"
	if a.RetryPolicy.Attempts() == 1 {
		text = "no retry"
	}
	if a.ErrorAction != nil {
		text += ", then " + actionText(a.ErrorAction)
	}
	return text
}

func recurrenceText(r *client.Recurrence) string {
	if r == nil {
		return "once"
	}
	text := "every " + r.Frequency
	if r.Interval > 1 {
		text = "every " + strconv.Itoa(r.Interval) + " " + r.Frequency + "s"
	}
	notated := true
	switch {
	case r.Cron != "":
		text = "cron " + r.Cron
	case r.RRule != "":
		text = "RRULE " + r.RRule
	default:
		notated = false
	}
	if r.TimeZone != "" {
		text += ", " + r.TimeZone
	}
	if r.Schedule != nil && !notated {
		text += ", on a schedule"
	}
	if r.Count > 0 {
		text += ", " + strconv.Itoa(r.Count) + " times"
	}
	return strings.TrimSpace(text)
}
