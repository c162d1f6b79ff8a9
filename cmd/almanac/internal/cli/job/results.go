package job

import (
	"fmt"
	"iter"
	"time"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/output"
)

// What became of a job, as the API calls it.
const (
	statusDone      = "Done"
	statusUnchanged = "Unchanged"
	statusChanged   = "ChangedSince"
	statusMissing   = "Missing"
	statusRefused   = "Refused"

	statusUnreachable = "Unreachable" // the API: whether it was done is not known
	statusFailed      = "Failed"
)

// failed returns a result with what went wrong.
func failed(s *base.Session, r result, err error) result {
	r.err, r.Error = err, base.Describe(s.URL, err)
	switch code := exit.CodeOf(err); {
	case client.IsChanged(err):
		r.Status, r.Error = statusChanged, "it was changed meanwhile; the command can be repeated"
	case code == exit.Unreachable:
		r.Status = statusUnreachable
	case code == exit.NotFound:
		r.Status = statusMissing
	case code == exit.Failed:
		r.Status = statusFailed
	default:
		r.Status = statusRefused
	}
	return r
}

// A result is what became of a job.
type result struct {
	Name      string `json:"name"` // of the job collection and of the job
	Status    string `json:"status"`
	Execution string `json:"execution,omitempty"`
	Outcome   string `json:"outcome,omitempty"` // of an execution that was waited for
	Error     string `json:"error,omitempty"`

	did  string      // what statusDone means, for people
	err  error       // of the API, for a job alone
	job  *client.Job // as it is now, if that is known
	took time.Duration
}

// one is a result alone.
func one(r result) iter.Seq[result] { return func(yield func(result) bool) { yield(r) } }

// results prints each result when it is there, and returns the error with the worst status. A job alone is an object in
// JSON, and its error that of the API, unless it was begun.
func results(s *base.Session, alone bool, all iter.Seq[result]) error {
	var kept []result
	counts := map[string]int{}
	for r := range all {
		if alone && r.err != nil && r.Execution == "" {
			return r.err
		}
		counts[r.Status]++
		if r.Outcome != "" && r.Outcome != string(client.OutcomeCompleted) {
			counts[outcomeBad]++
		}
		if !s.Format.ForPeople() {
			kept = append(kept, r)
			continue
		}
		if _, err := fmt.Fprintln(s.Out, r.line(s)); err != nil {
			return err
		}
	}
	if err := printResults(s, alone, kept); err != nil {
		return err
	}
	return verdict(counts)
}

// outcomeUnknown is the outcome of an execution that was not waited for until its end.
const outcomeUnknown = "Unknown"

// outcomeBad counts executions that did not succeed.
const outcomeBad = "bad"

func printResults(s *base.Session, alone bool, kept []result) error {
	switch {
	case s.Format.ForPeople():
		return nil
	case alone && len(kept) == 1:
		return output.One(&s.Printer, resultView, kept[0])
	}
	return output.List(&s.Printer, resultView, kept)
}

var resultView = output.View[result]{Name: func(r result) string { return r.Name }}

// verdict returns the error about results that are not as they were wanted; nothing more is to be printed.
func verdict(counts map[string]int) error {
	switch {
	case counts[statusUnreachable] > 0:
		return exit.Silent(exit.Unreachable)
	case counts[statusRefused]+counts[statusChanged] > 0:
		return exit.Silent(exit.Refused)
	case counts[statusMissing] > 0:
		return exit.Silent(exit.NotFound)
	case counts[outcomeBad]+counts[statusFailed] > 0:
		return exit.Silent(exit.Failed)
	}
	return nil
}

var statusWords = map[string]output.Cell{
	statusDone:      {Text: "done", Mark: output.Good},
	statusUnchanged: {Text: "unchanged", Mark: output.Faint},
	statusChanged:   {Text: "not done: it was changed meanwhile", Mark: output.Warn},
	statusMissing:   {Text: "not found", Mark: output.Bad},
	statusRefused:   {Text: "refused", Mark: output.Bad},

	statusUnreachable: {Text: "not known: the API did not answer", Mark: output.Bad},
	statusFailed:      {Text: "failed", Mark: output.Bad},
}

// line returns a result as a line for people.
func (r result) line(s *base.Session) string {
	c := statusWords[r.Status]
	if c.Text == "" {
		c.Text = r.Status
	}
	if r.Status == statusDone && r.did != "" {
		c.Text = r.did
	}
	if r.Outcome != "" {
		c = outcomeCell(client.Outcome(r.Outcome))
		if r.took > 0 {
			c.Text += " in " + output.Length(r.took)
		}
	}
	text := "job " + output.Line(r.Name) + " " + s.Paint(output.Line(c.Text), c.Mark)
	if r.Execution != "" && (r.Outcome == "" || r.Outcome == outcomeUnknown) {
		text += ", execution " + output.Line(r.Execution)
	}
	if r.Error != "" {
		text += ": " + output.Line(r.Error)
	}
	if r.job != nil && r.Status == statusDone {
		text += nextText(s, *r.job)
	}
	return text
}

// jobs returns a number of jobs in words.
func jobs(n int) string {
	if n == 1 {
		return "1 job"
	}
	return fmt.Sprintf("%d jobs", n)
}
