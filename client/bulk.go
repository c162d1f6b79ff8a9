package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A BulkAction is what is done to many jobs.
type BulkAction string

// The bulk actions.
const (
	BulkEnable  BulkAction = "enable"
	BulkDisable BulkAction = "disable"
	BulkRun     BulkAction = "run"
	BulkSkip    BulkAction = "skip" // the next occurrence
	BulkRerun   BulkAction = "rerun"
	BulkDelete  BulkAction = "delete"
)

// A BulkQuestion is which jobs of a job collection are to be changed: Names, or Search, Filter or both.
type BulkQuestion struct {
	Action BulkAction `json:"action"`
	Names  []string   `json:"names,omitempty"`
	Search string     `json:"search,omitempty"`
	Filter string     `json:"filter,omitempty"`

	// Of enabling and disabling, as in [Pause].
	Note    string  `json:"note,omitempty"`
	Until   Time    `json:"until,omitempty"`
	Recover Recover `json:"recover,omitempty"`
	AtOnce  int     `json:"atOnce,omitempty"`

	Held bool `json:"held,omitempty"` // what that holds is asked of each job
}

// A BulkPreview is what an action would do.
type BulkPreview struct {
	Action    BulkAction `json:"action"`
	Jobs      []BulkJob  `json:"jobs"`    // those that would run at once first
	Missing   []string   `json:"missing"` // names that no job has
	Changes   int        `json:"changes"`
	RunAtOnce int        `json:"runAtOnce"`
	Selection string     `json:"selection"` // for [Client.Bulk]
}

// A BulkJob is what an action would do to a job.
type BulkJob struct {
	ID                string    `json:"id"`
	Name              string    `json:"name"` // of the job collection and of the job
	ETag              string    `json:"etag,omitempty"`
	State             JobState  `json:"state,omitempty"`
	Effect            string    `json:"effect"` // changes, unchanged or refused
	RunsAtOnce        bool      `json:"runsAtOnce,omitempty"`
	NextExecutionTime time.Time `json:"nextExecutionTime,omitzero"`
	Reason            string    `json:"reason,omitempty"`
	Held              *Held     `json:"held,omitempty"` // of one that changes, with its first occurrence; nil: it is not known
}

// A BulkResult is the result for one job.
type BulkResult struct {
	ID         string               `json:"id"`
	Type       string               `json:"type"`
	Name       string               `json:"name"` // of the job collection and of the job
	Properties BulkResultProperties `json:"properties"`
}

// BulkResultProperties are what became of a job.
type BulkResultProperties struct {
	Status    string     `json:"status"`              // Done, Unchanged, ChangedSince, Missing or Refused
	Execution string     `json:"execution,omitempty"` // the id of the manual run that was started
	Error     *ErrorBody `json:"error,omitempty"`
}

// PreviewBulk returns which jobs an action would change. Nothing is changed.
func (c *Client) PreviewBulk(ctx context.Context, collection string, q BulkQuestion) (found BulkPreview, err error) {
	m := message{method: http.MethodPost, at: c.collectionAt(collection, "bulkPreview"), body: q}
	_, err = c.call(ctx, m, &found)
	return found, err
}

// Bulk changes the jobs of a selection and returns the result for each. The iteration asks for the next page of jobs
// when it gets there. Those of more than 200 jobs are changed by an operation, whose end it waits for; it goes on if the
// iteration is left. It may be repeated.
func (c *Client) Bulk(
	ctx context.Context, collection string, action BulkAction, selection string,
) iter.Seq2[BulkResult, error] {
	m := bulkMessage(c, collection, action, selection)
	return func(yield func(BulkResult, error) bool) {
		for {
			a, err := c.call(ctx, m, nil)
			if err != nil {
				yield(BulkResult{}, err)
				return
			}
			if a.status == http.StatusAccepted {
				a, err = c.bulkResults(ctx, collection, a)
			}
			if err != nil {
				yield(BulkResult{}, err)
				return
			}
			p, err := pageIn[BulkResult](a.body)
			if err != nil {
				yield(BulkResult{}, err)
				return
			}
			for _, one := range p.Value {
				if !yield(one, nil) {
					return
				}
			}
			if p.Next == "" {
				return
			}
			m.query.Set("$skiptoken", p.Next)
		}
	}
}

// StartBulk is [Client.Bulk] that does not wait for an operation: it returns what became of the jobs, or the name of the
// operation, for [Client.BulkResults].
func (c *Client) StartBulk(
	ctx context.Context, collection string, action BulkAction, selection string,
) (all []BulkResult, operation string, err error) {
	m := bulkMessage(c, collection, action, selection)
	for {
		a, err := c.call(ctx, m, nil)
		if err != nil {
			return all, "", err
		}
		if a.status == http.StatusAccepted {
			return nil, lastPart(a.header.Get("Location")), nil
		}
		p, err := pageIn[BulkResult](a.body)
		if all = append(all, p.Value...); err != nil || p.Next == "" {
			return all, "", err
		}
		m.query.Set("$skiptoken", p.Next)
	}
}

func bulkMessage(c *Client, collection string, action BulkAction, selection string) message {
	word := "bulk" + strings.ToUpper(string(action[:1])) + string(action[1:])
	return message{
		method: http.MethodPost, at: c.collectionAt(collection, word), query: url.Values{},
		body: map[string]string{"selection": selection},
	}
}

// bulkResults waits for the end of an operation, and returns the answer with what became of its jobs.
func (c *Client) bulkResults(ctx context.Context, collection string, a *answer) (*answer, error) {
	m := message{method: http.MethodGet, at: c.collectionAt(collection, "bulkResults", lastPart(a.header.Get("Location")))}
	for err := error(nil); ; {
		if err != nil || a.status != http.StatusAccepted {
			return a, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(retryAfter(a.header)):
		}
		a, err = c.call(ctx, m, nil)
	}
}

// BulkResults returns what became of the jobs of an operation by its name; done is false while it goes on.
func (c *Client) BulkResults(ctx context.Context, collection, name string) (all []BulkResult, done bool, err error) {
	a, err := c.call(ctx, message{method: http.MethodGet, at: c.collectionAt(collection, "bulkResults", name)}, nil)
	if err != nil || a.status == http.StatusAccepted {
		return nil, false, err
	}
	p, err := pageIn[BulkResult](a.body)
	return p.Value, err == nil, err
}
