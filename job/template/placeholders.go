package template

import (
	"strings"
	"time"

	"almanac/job"
)

// Values are what placeholders stand for.
type Values struct {
	Facts
	Execution job.Execution
	Attempt   int // number of the attempt of this action, from 1
}

// Facts are the values that the workflow of a job knows and an attempt does not. They are sent with an action that has
// placeholders.
type Facts struct {
	Failure *Failure `json:"failure,omitempty"` // in an error action; nil: nothing is known
	// when the job's last execution that succeeded ended; zero if none has
	LastSuccess time.Time `json:"lastSuccess,omitzero"`
}

// A Failure is what an error action can say of the action that failed.
type Failure struct {
	Message string `json:"message,omitempty"` // of the last attempt, as in the history; at most 2048 bytes
	// why the last attempt failed, in short, as in the log; at most 500 bytes
	Error    string `json:"error,omitempty"`
	Attempts int    `json:"attempts,omitempty"` // how many attempts were made
	Status   int    `json:"status,omitempty"`   // the HTTP status of the last attempt's answer; 0 if it has none
}

// A placeholder is one of the values that a template can name.
type placeholder struct {
	name    string
	is      valueType
	of      func(*Values) any
	meaning string // in docs/actions.md, which the test of package docs compares
}

const failed = ".Failure."

// ofFailure reports whether the placeholder exists in an error action only.
func (p *placeholder) ofFailure() bool { return strings.HasPrefix(p.name, failed) }

var placeholders = []placeholder{
	{".Job.Name", aText, func(v *Values) any { return v.Execution.Job }, "the name of the job"},
	{".Job.Collection", aText, func(v *Values) any { return v.Execution.Collection }, "the name of its collection"},
	{
		".Execution.ID", aText, func(v *Values) any { return v.Execution.ID },
		"the id of the execution, the same in all its attempts and in its error action",
	},
	{
		".Due", aTime, func(v *Values) any { return v.Execution.Due.UTC() },
		"the due time in UTC: `2026-01-31T08:30:00Z`; of a manual run when it was asked for",
	},
	{".Attempt", aNumber, func(v *Values) any { return v.Attempt }, "the number of the attempt of this action, from 1"},
	{
		".LastSuccess", aTime, func(v *Values) any { return v.LastSuccess.UTC() },
		"when the last execution of the job that succeeded ended, in UTC: `2026-01-31T08:30:01Z`; empty if none has, or none is known",
	},
	{
		failed + "Message", aText, func(v *Values) any { return v.failure().Message },
		"in an `errorAction`: why the last attempt failed, with the answer, as in the history; the first 2048 bytes",
	},
	{
		failed + "Error", aText, func(v *Values) any { return v.failure().Error },
		"in an `errorAction`: why the last attempt of the action failed, as in the log: `404 Not Found: no such order`",
	},
	{
		failed + "Attempts", aNumber, func(v *Values) any { return v.failure().Attempts },
		"in an `errorAction`: how many attempts of the action were made",
	},
	{
		failed + "Status", aNumber, func(v *Values) any { return v.failure().Status },
		"in an `errorAction`: the HTTP status that the last attempt of a web request or storage queue was answered with; 0 if there was none",
	},
}

// sample has a value for each placeholder.
var sample = Values{
	Execution: job.Execution{ID: "x", Due: sampleTime, Job: "x", Collection: "x"},
	Attempt:   1,
	Facts:     Facts{LastSuccess: sampleTime, Failure: &Failure{Message: "x", Error: "x", Attempts: 1, Status: 500}},
}

var sampleTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (v *Values) failure() Failure {
	if v.Failure == nil {
		return Failure{}
	}
	return *v.Failure
}

// Reference returns the table of the placeholders in docs/actions.md.
func Reference() string {
	var b strings.Builder
	b.WriteString("| placeholder | is |\n|---|---|\n")
	for _, p := range placeholders {
		b.WriteString("| `{{" + p.name + "}}` | " + p.meaning + " |\n")
	}
	return b.String()
}
