package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// RunJob starts a manual run, and returns the name of its execution. In a blackout it is a conflict: see
// [Client.ForceRun].
func (c *Client) RunJob(ctx context.Context, collection, name string) (execution string, err error) {
	a, err := c.call(ctx, message{method: http.MethodPost, at: c.jobAt(collection, name, "run")}, nil)
	if err != nil {
		return "", err
	}
	return lastPart(a.header.Get("Location")), nil
}

// ForceRun is [Client.RunJob] also while a blackout of the job or of its collection lasts.
func (c *Client) ForceRun(ctx context.Context, collection, name string) (execution string, err error) {
	query := url.Values{"force": {"true"}}
	a, err := c.call(ctx, message{method: http.MethodPost, at: c.jobAt(collection, name, "run"), query: query}, nil)
	if err != nil {
		return "", err
	}
	return lastPart(a.header.Get("Location")), nil
}

// Occurrences are some of a job that are to come: the one that is due at Due, all from From on that are due before Until,
// or the next ones: Next of them, or one if that is 0.
type Occurrences struct {
	Due         time.Time
	Next        int
	From, Until time.Time
}

func (o Occurrences) query() url.Values {
	query := url.Values{}
	for name, at := range map[string]time.Time{"due": o.Due, "from": o.From, "until": o.Until} {
		if !at.IsZero() {
			query.Set(name, string(At(at)))
		}
	}
	if o.Next > 0 {
		query.Set("next", strconv.Itoa(o.Next))
	}
	return query
}

// SkipOccurrences has occurrences of a job not run. It is a conflict if there are none, and can be repeated unless it is
// about the next ones.
func (c *Client) SkipOccurrences(ctx context.Context, collection, name string, which Occurrences) (Job, error) {
	return jobOf(post[Job](ctx, c, c.jobAt(collection, name, "skip"), which.query()))
}

// UnskipOccurrences has skipped occurrences of a job run after all; otherwise it is as [Client.SkipOccurrences].
func (c *Client) UnskipOccurrences(ctx context.Context, collection, name string, which Occurrences) (Job, error) {
	return jobOf(post[Job](ctx, c, c.jobAt(collection, name, "unskip"), which.query()))
}

// SkipOccurrence has the next occurrence of a job not run or, unless due is zero, the one that is due then.
func (c *Client) SkipOccurrence(ctx context.Context, collection, name string, due time.Time) (Job, error) {
	return c.SkipOccurrences(ctx, collection, name, Occurrences{Due: due})
}

// A Rerun is what a request to run jobs again did for one job.
type Rerun struct {
	ID         string          `json:"id"`
	Type       string          `json:"type"`
	Name       string          `json:"name"` // of the job collection and of the job
	Properties RerunProperties `json:"properties"`
}

// RerunProperties are what was done.
type RerunProperties struct {
	Status    RerunStatus `json:"status"`
	Execution string      `json:"execution,omitempty"` // the id of the manual run
	Error     *ErrorBody  `json:"error,omitempty"`     // why it was refused
}

// A RerunStatus is what was done for a job.
type RerunStatus string

// The statuses of a [Rerun].
const (
	RerunStarted   RerunStatus = "Started"
	RerunUnderWay  RerunStatus = "UnderWay"  // a manual run runs or waits, or a request of this name started one before
	RerunNotFailed RerunStatus = "NotFailed" // the execution that ended last succeeded, or none has ended
	RerunRefused   RerunStatus = "Refused"
)

// RerunJob starts a manual run of a job if its last execution failed. A request can be repeated under the same name,
// such as a UUID; "" gives it none.
func (c *Client) RerunJob(ctx context.Context, collection, name, request string) (Rerun, error) {
	done, _, err := post[Rerun](ctx, c, c.jobAt(collection, name, "rerun"), nil, named(request))
	return done, err
}

// RerunJobs starts a manual run of each job of a list whose last execution failed, and returns the result for each.
// Nothing is started before the iteration begins, and nothing after it was left.
func (c *Client) RerunJobs(ctx context.Context, collection, request string, l List) iter.Seq2[Rerun, error] {
	return all[Rerun](ctx, c, http.MethodPost, c.collectionAt(collection, "rerun"), l, named(request))
}

// An Execution is one execution of a job.
type Execution struct {
	ID         string              `json:"id"`
	Type       string              `json:"type"`
	Name       string              `json:"name"`
	Properties ExecutionProperties `json:"properties"`
}

// ExecutionProperties are how an execution stands.
type ExecutionProperties struct {
	Status                Stage      `json:"status"`
	Reason                string     `json:"reason,omitempty"` // why it waits, or has no entries
	Outcome               Outcome    `json:"outcome,omitempty"`
	ExpectedExecutionTime time.Time  `json:"expectedExecutionTime,omitzero"`
	RepeatCount           int        `json:"repeatCount"`
	ActionName            ActionName `json:"actionName,omitempty"`
	ExecutionID           string     `json:"executionId,omitempty"` // a UUID that receivers get
	Caller                string     `json:"caller,omitempty"`      // who ran the job by hand
	Retry                 *Retry     `json:"retry,omitempty"`
	History               []History  `json:"history"` // its attempts that have ended, newest first
}

// A Stage is how far an execution is.
type Stage string

// The stages of an execution.
const (
	Waiting Stage = "waiting" // an attempt will be made
	Running Stage = "running" // an attempt is being made
	Ended   Stage = "ended"
)

// Execution returns how an execution of a job stands.
func (c *Client) Execution(ctx context.Context, collection, name, execution string) (Execution, error) {
	found, _, err := get[Execution](ctx, c, c.jobAt(collection, name, "executions", execution))
	return found, err
}
